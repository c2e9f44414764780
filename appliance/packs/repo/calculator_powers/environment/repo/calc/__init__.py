"""Arithmetic on whole numbers."""

from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.show import show

__all__ = ["CalcError", "evaluate", "show"]
