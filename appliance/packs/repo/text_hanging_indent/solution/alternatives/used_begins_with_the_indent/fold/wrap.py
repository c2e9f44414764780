"""Wraps words into lines."""

from fold.width import width


def wrap(text, columns, indent=""):
    """Lines of at most `columns` columns; all but the first begin with `indent`.

    Words are never broken: one that is too long for a line has it for itself. An empty text has no lines.
    """
    if columns < 1:
        raise ValueError("a line needs one column at least")
    lines = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(indent + word if lines else word)
    return lines


def paragraphs(text, columns, indent=""):
    """The lines of all paragraphs, which blank lines part; one empty line stands between two of them."""
    found = []
    for block in _blocks(text):
        if found:
            found.append("")
        found += wrap(block, columns, indent)
    return found


def _blocks(text):
    block = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield " ".join(block)
            block = []
