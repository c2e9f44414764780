"""A cache of bounded size."""

from lru.cache import Cache
from lru.counts import Counts
from lru.replay import replay

__all__ = ["Cache", "Counts", "replay"]
