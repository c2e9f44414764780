"""Which cell reads which."""


class Links:
    """From each cell to those that its formula names, and back."""

    def __init__(self):
        self._reads = {}

    def put(self, cell, others):
        """From now on `cell` reads `others` and nothing else."""
        self._reads[cell] = list(others)

    def readers(self, cell):
        """The cells whose formulas name this one, sorted."""
        return sorted(reader for reader, others in self._reads.items() if cell in others)

    def would_close(self, cell, others):
        """Whether there is a way from one of `others` back to `cell`."""
        seen, left = set(), list(others)
        while left:
            one = left.pop()
            if one == cell:
                return True
            if one not in seen:
                seen.add(one)
                left += self._reads.get(one, [])
        return False
