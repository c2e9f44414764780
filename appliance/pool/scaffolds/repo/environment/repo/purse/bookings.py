"""Bookings: lines such as `2024-05-03 food 12.50`."""

from dataclasses import dataclass

from purse.amounts import parse_amount


@dataclass(frozen=True)
class Booking:
    """One booking; `cents` is below zero for money that came back."""

    day: str
    label: str
    cents: int


def read_booking(line):
    """The booking of a line; ValueError for a line that is none."""
    parts = line.split()
    if len(parts) != 3:
        raise ValueError(f"not a booking: {line!r}")
    day, label, amount = parts
    return Booking(day, label, parse_amount(amount))
