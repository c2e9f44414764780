"""Dates that come again."""

from recur.agenda import agenda, listed
from recur.errors import RuleError
from recur.rule import Rule, parse
from recur.series import between, dates

__all__ = ["Rule", "RuleError", "agenda", "between", "dates", "listed", "parse"]
