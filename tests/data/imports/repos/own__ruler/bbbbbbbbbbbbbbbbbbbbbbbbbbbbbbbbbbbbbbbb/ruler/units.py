"""Lengths in words."""

UNITS = {"mm": 1, "cm": 10, "dm": 100, "m": 1000}


def millimetres(text):
    """The length that a text such as "3 cm" names."""
    number, unit = text.split()
    return int(number) * UNITS[unit]


def largest_unit(length):
    """The largest unit that divides a length."""
    for unit in sorted(UNITS, key=UNITS.get, reverse=False):
        if length % UNITS[unit] == 0:
            return unit
