"""Exact matrices."""

from grid.basics import identity, product, transposed
from grid.determinant import determinant, orientation
from grid.errors import GridError
from grid.solve import solve

__all__ = ["GridError", "determinant", "identity", "orientation", "product", "solve", "transposed"]
