"""Bookings and their sums."""

from purse.amounts import format_amount, parse_amount
from purse.report import balance, totals

__all__ = ["balance", "format_amount", "parse_amount", "totals"]
