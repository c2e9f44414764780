"""Columns."""

from fold.width import pad, width


def columns(rows, gap=2):
    """Lines of rows whose cells stand below each other; nothing follows the last cell of a row."""
    widths = {}
    for row in rows:
        for number, cell in enumerate(row):
            widths[number] = max(widths.get(number, 0), width(cell))
    lines = []
    for row in rows:
        cells = [pad(cell, widths[number] + gap) for number, cell in enumerate(row)]
        lines.append("".join(cells).rstrip())
    return lines
