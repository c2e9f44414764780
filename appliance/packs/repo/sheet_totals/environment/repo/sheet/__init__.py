"""Cells, formulas and values."""

from sheet.desk import run
from sheet.errors import CycleError, SheetError
from sheet.table import Sheet

__all__ = ["CycleError", "Sheet", "SheetError", "run"]
