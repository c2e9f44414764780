"""How a cache was used."""

from dataclasses import dataclass


@dataclass
class Counts:
    """Hits, misses and entries that were thrown out."""

    hits: int = 0
    misses: int = 0
    thrown_out: int = 0

    def rate(self):
        """The share of hits among all reads; 0.0 before the first one."""
        reads = self.hits + self.misses
        return self.hits / reads if reads else 0.0
