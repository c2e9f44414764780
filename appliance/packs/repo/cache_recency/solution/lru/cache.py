"""The cache itself."""

from lru.counts import Counts


class Cache:
    """At most `size` entries; the one that was not used for the longest time goes first.

    `get` of an entry that is there and `put` are uses; `peek` and `in` are not.
    """

    def __init__(self, size):
        if size < 1:
            raise ValueError("a cache needs room for one entry")
        self.size = size
        self.counts = Counts()
        self._entries = {}

    def put(self, key, value):
        """Store a value; the key that had to go, or None."""
        self._entries.pop(key, None)
        self._entries[key] = value
        if len(self._entries) <= self.size:
            return None
        oldest = next(iter(self._entries))
        del self._entries[oldest]
        self.counts.thrown_out += 1
        return oldest

    def get(self, key, default=None):
        """The value of a key, which is used thereby, or the default."""
        if key not in self._entries:
            self.counts.misses += 1
            return default
        self.counts.hits += 1
        value = self._entries.pop(key)
        self._entries[key] = value
        return value

    def peek(self, key, default=None):
        """The value of a key without using it; not counted."""
        return self._entries.get(key, default)

    def drop(self, key):
        """Forget a key; whether it was there."""
        found = key in self._entries
        self._entries.pop(key, None)
        return found

    def keys(self):
        """All keys, from the one that goes first to the one that was used last."""
        return list(self._entries)

    def __contains__(self, key):
        return key in self._entries

    def __len__(self):
        return len(self._entries)
