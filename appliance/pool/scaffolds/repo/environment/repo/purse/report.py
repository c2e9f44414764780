"""Sums over bookings."""

from purse.amounts import format_amount
from purse.bookings import read_booking


def totals(lines):
    """The sum of each label, as text, in order of the labels. Blank lines are left out."""
    sums = {}
    for line in lines:
        if line.strip():
            booking = read_booking(line)
            sums[booking.label] = sums.get(booking.label, 0) + booking.cents
    return {label: format_amount(sums[label]) for label in sorted(sums)}


def balance(lines):
    """The sum of all bookings in cents."""
    return sum(read_booking(line).cents for line in lines if line.strip())
