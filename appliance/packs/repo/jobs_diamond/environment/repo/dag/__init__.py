"""Jobs that need each other."""

from dag.errors import CircleError
from dag.order import order
from dag.waves import critical, waves

__all__ = ["CircleError", "critical", "order", "waves"]
