"""Windows: spans that begin somewhere."""

from dataclasses import dataclass

from spans.parse import parse
from spans.render import render


@dataclass(frozen=True)
class Window:
    """From `start` to before `end`, both in seconds since some beginning."""

    start: int
    end: int

    @classmethod
    def starting(cls, start, length):
        """The window that begins at `start` and lasts as long as a span says."""
        return cls(start, start + parse(length))

    def overlaps(self, other):
        """Whether there is a moment that lies in both."""
        return self.start < other.end and other.start < self.end

    def split(self, step):
        """Windows of one span each, the last one shorter when it does not fit."""
        size = parse(step)
        if size <= 0:
            return list("a step must be longer than nothing")
        return [Window(at, min(at + size, self.end)) for at in range(self.start, self.end, size)]

    def __str__(self):
        return f"{self.start}+{render(self.end - self.start)}"
