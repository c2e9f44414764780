"""Rows with names."""

from rows.dialect import Dialect
from rows.reader import read


def records(text, dialect=Dialect()):
    """Dicts, one for each row after the first, which holds the names; cells that are missing are empty."""
    rows = read(text, dialect)
    names = rows[0] if rows else []
    return [{name: (row[place] if place < len(row) else "") for place, name in enumerate(names)} for row in rows[1:]]
