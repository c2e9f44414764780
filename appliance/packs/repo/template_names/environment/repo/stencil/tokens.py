"""Texts and marks."""

import re

_MARK = re.compile(r"\{([^{}]*)\}")


def tokens(template):
    """Pairs: `text` and the text, or `mark` and the words between braces. Empty texts are left out."""
    found, at = [], 0
    for mark in _MARK.finditer(template):
        found.append(("text", template[at : mark.start()]))
        found.append(("mark", mark[1].split()))
        at = mark.end()
    found.append(("text", template[at:]))
    return [token for token in found if token != ("text", "")]
