"""Shapes and products."""

from grid.errors import GridError


def shape(rows):
    """Rows and columns; GridError when rows differ in length or there are none."""
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise GridError("not a matrix")
    return len(rows), len(rows[0])


def identity(size):
    """Ones on the diagonal."""
    return [[int(row == column) for column in range(size)] for row in range(size)]


def transposed(rows):
    """Rows as columns."""
    shape(rows)
    return [list(column) for column in zip(*rows)]


def product(left, right):
    """The product of two matrices."""
    if shape(left)[1] != shape(right)[0]:
        raise GridError("these do not fit together")
    columns = transposed(right)
    return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in left]
