"""Formulas: whole numbers and cells, added and subtracted."""

import re

from sheet.errors import SheetError

_CELL = re.compile(r"[A-Z][1-9][0-9]?")
_TERM = re.compile(r"([+-])([A-Z][1-9][0-9]?|[0-9]+)")


def check_cell(text):
    """Raise SheetError unless the text names a cell, such as `B7`."""
    if not _CELL.fullmatch(text):
        raise SheetError(f"there is no cell {text!r}")


def parse(text):
    """The terms of a formula such as `=A1-3`: pairs of `+` or `-` and the name of a cell or a number."""
    body = text.removeprefix("=").replace(" ", "")
    if body[:1] not in ("+", "-"):
        body = "+" + body
    terms = _TERM.findall(body)
    if "".join(sign + what for sign, what in terms) != body or not terms:
        raise SheetError(f"{text!r} is no formula")
    return [(sign, what if what[0].isalpha() else int(what)) for sign, what in terms]


def reads(terms):
    """The cells that the terms name, each once, in order."""
    return list(dict.fromkeys(what for _, what in terms if isinstance(what, str)))
