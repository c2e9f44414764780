"""Equations."""

from grid.basics import shape
from grid.echelon import echelon
from grid.errors import GridError


def solve(rows, right):
    """The one solution of `rows` times it is `right`; GridError when there is none or are several."""
    height, width = shape(rows)
    if height != width or len(right) != height:
        raise GridError("as many equations as unknowns are needed")
    steps, _ = echelon([[*row, value] for row, value in zip(rows, right)], width)
    if not all(steps[place][place] for place in range(width)):
        raise GridError("not exactly one solution")
    found = [0] * width
    for place in reversed(range(width)):
        known = sum(steps[place][later] * found[later] for later in range(place + 1, width))
        found[place] = (steps[place][width] - known) / steps[place][place]
    return found
