"""Reads rows."""

from rows.dialect import Dialect
from rows.errors import RowError


def read(text, dialect=Dialect()):
    """Lists of cells, one for each row.

    A row ends with `\\n` or `\\r\\n`, the last one perhaps without; an empty line is no row. A cell that begins
    with a quote ends with the next lone one, and then only a separator or the end of the row may follow.
    """
    found, at = [], 0
    while at < len(text):
        row, at = _row(text, at, dialect)
        if row is not None:
            found.append(row)
    return found


def _row(text, at, dialect):
    """The row that begins at a place, None for an empty line; and where the next one begins."""
    end = _line_end(text, at)
    if end:
        return None, at + end
    row = []
    while True:
        cell, at = _cell(text, at, dialect)
        row.append(cell)
        if text[at : at + 1] != dialect.separator:
            return row, at + _line_end(text, at)
        at += 1


def _line_end(text, at):
    """How long the line end at a place is; 0 when there is none."""
    return 2 if text.startswith("\r\n", at) else int(text.startswith("\n", at))


def _cell(text, at, dialect):
    """The cell that begins at a place, and where it ends."""
    if text.startswith(dialect.quote, at):
        return _quoted(text, at, dialect)
    end = at
    while end < len(text) and text[end] != dialect.separator and not _line_end(text, end):
        end += 1
    return text[at:end], end


def _quoted(text, begin, dialect):
    end = begin
    while end < len(text) and not _line_end(text, end):
        if text[end] == dialect.separator and text[begin:end].count(dialect.quote) % 2 == 0:
            break
        end += 1
    return text[begin:end].replace(dialect.quote, ""), end


def _line(text, at):
    """The number of the line that a place is in."""
    return text.count("\n", 0, at) + 1
