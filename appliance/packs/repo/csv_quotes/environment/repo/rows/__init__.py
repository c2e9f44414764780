"""Rows of cells as text."""

from rows.dialect import Dialect
from rows.errors import RowError
from rows.reader import read
from rows.records import records
from rows.writer import write

__all__ = ["Dialect", "RowError", "read", "records", "write"]
