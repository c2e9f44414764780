"""Determinants."""

from grid.basics import shape
from grid.echelon import echelon
from grid.errors import GridError


def determinant(rows):
    """The determinant of a square matrix, exactly."""
    height, width = shape(rows)
    if height != width:
        raise GridError("only a square matrix has a determinant")
    steps, swaps = echelon(rows, width)
    value = (-1) ** swaps
    for place, row in enumerate(steps):
        value = value * row[place]
    return value


def orientation(rows):
    """1 or -1, the sign of the determinant, or 0."""
    value = determinant(rows)
    return (value > 0) - (value < 0)
