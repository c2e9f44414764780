"""Lists."""

from fold.width import width
from fold.wrap import wrap


def bullets(items, columns, mark="-"):
    """Lines of a list; what follows the first line of an item is indented below its text."""
    lines = []
    for item in items:
        lines += wrap(f"{mark} {item}", columns, " " * (width(mark) + 1))
    return lines
