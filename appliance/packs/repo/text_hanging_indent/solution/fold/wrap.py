"""Wraps words into lines."""

from fold.width import width


def wrap(text, columns, indent=""):
    """Lines of at most `columns` columns; all but the first begin with `indent`.

    Words are never broken: one that is too long for a line has it for itself. An empty text has no lines.
    """
    if columns < 1:
        raise ValueError("a line needs one column at least")
    lines, line, used = [], [], 0
    for word in text.split():
        room = columns - (width(indent) if lines else 0)
        if line and used + 1 + width(word) > room:
            lines.append(line)
            line, used = [], 0
        used += width(word) + (1 if line else 0)
        line.append(word)
    if line:
        lines.append(line)
    return [(indent if number else "") + " ".join(words) for number, words in enumerate(lines)]


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
