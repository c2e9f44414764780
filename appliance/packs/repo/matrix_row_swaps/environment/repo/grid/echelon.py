"""Elimination."""

from fractions import Fraction


def echelon(rows, columns):
    """The matrix with zeros below the diagonal of its first `columns` columns, and how many of its rows were swapped.

    Column by column, the first row with something in it is swapped up, when it is not there already.
    """
    rows = [[Fraction(value) for value in row] for row in rows]
    top = swaps = 0
    for column in range(columns):
        found = next((row for row in range(top, len(rows)) if rows[row][column]), None)
        if found is None:
            continue
        if found != top:
            rows[top], rows[found] = rows[found], rows[top]
            swaps += 1
        for row in range(top + 1, len(rows)):
            factor = rows[row][column] / rows[top][column]
            rows[row] = [mine - factor * first for mine, first in zip(rows[row], rows[top])]
        top += 1
    return rows, swaps
