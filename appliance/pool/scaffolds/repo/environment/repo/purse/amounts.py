"""Amounts of money: texts such as `12.50` to whole cents and back."""

import re

_FORM = re.compile(r"-?[0-9]+(\.[0-9]{2})?")


def parse_amount(text):
    """The cents of `12.50`, `-3` or `-0.75`; ValueError for anything else."""
    text = text.strip()
    if not _FORM.fullmatch(text):
        raise ValueError(f"not an amount: {text!r}")
    whole, _, rest = text.partition(".")
    units, fraction = int(whole), int(rest or 0)
    return 100 * units - fraction if units < 0 else 100 * units + fraction


def format_amount(cents):
    """The text of an amount, always with two digits after the point."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"
