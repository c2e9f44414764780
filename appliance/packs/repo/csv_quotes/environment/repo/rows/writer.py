"""Writes rows."""

from rows.dialect import Dialect


def write(rows, dialect=Dialect()):
    """Rows as text; cells are quoted where they must be. Each row ends with a line end."""
    return "".join(_row(row, dialect) + "\n" for row in rows)


def _row(row, dialect):
    if row == [""]:
        return dialect.quote * 2
    return dialect.separator.join(_cell(cell, dialect) for cell in row)


def _cell(cell, dialect):
    if not any(letter in cell for letter in (dialect.separator, dialect.quote, "\n", "\r")):
        return cell
    return dialect.quote + cell.replace(dialect.quote, dialect.quote * 2) + dialect.quote
