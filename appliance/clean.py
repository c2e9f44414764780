"""Makes untrusted text fit for a terminal: the one formatting boundary for everything a model or a jail wrote.

Whole escape sequences, control characters (all but newline and tab), direction overrides, zero-width and other
invisible characters are removed; bytes that are not UTF-8 and lone surrogates become visible `\\xNN` or
`\\uNNNN`. Nothing that is removed can join its neighbours into a new sequence, because no introducer survives.
It does not judge meaning: look-alike letters and private-use glyphs pass.
"""

from __future__ import annotations

import re

ELLIPSIS = "…"

_STRING = r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"
"""OSC, DCS, SOS, PM, APC with their payload. An unterminated one loses its introducer and shows its payload."""
_CSI = r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
_SHORT = r"\x1b[ -/]*+[0-~]?"
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_INVISIBLE = (
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Format characters, fillers, variation selectors and tags: nothing on screen, or a change of direction."""
_LINE_ENDS = str.maketrans({"\u2028": "\n", "\u2029": "\n"})


def clean_text(text: str, limit: int | None = None) -> str:
    """Return `text` safe to print, at most `limit` characters long (the last one then is `…`)."""
    shown = _hostile().sub("", text.translate(_LINE_ENDS))
    return _cut(_surrogates().sub(lambda found: f"\\u{ord(found[0]):04x}", shown), limit)


def reveal_text(text: str, limit: int | None = None) -> str:
    """Return `text` safe to print with nothing removed: what acts on a terminal or hides is written out.

    A direction override reads `<U+202E>`. For people who look for what is hidden; only newlines and tabs stay.
    """
    invisible = re.compile(_INVISIBLE)
    kept = text if limit is None else text[: limit + 1]
    return _cut("".join(_revealed(letter, invisible) for letter in kept), limit)


def _revealed(letter: str, invisible: re.Pattern[str]) -> str:
    plain = letter in "\n\t" or (letter.isprintable() and not invisible.match(letter))
    return letter if plain else f"<U+{ord(letter):04X}>"


def clean_bytes(raw: bytes, limit: int | None = None) -> str:
    """Return `raw`, read as UTF-8, safe to print."""
    return clean_text(raw.decode("utf-8", "backslashreplace"), limit)


def clean_line(text: str, limit: int | None = None) -> str:
    """Return `text` safe to print on one line: every run of white space becomes one space."""
    return _cut(" ".join(clean_text(text).split()), limit)


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1] + ELLIPSIS if limit > 0 else ""


def _hostile() -> re.Pattern[str]:
    # re keeps its own cache, so this compiles once per process and importing us costs nothing.
    return re.compile(f"{_STRING}|{_CSI}|{_SHORT}|{_CONTROL}|{_INVISIBLE}")


def _surrogates() -> re.Pattern[str]:
    return re.compile("[\ud800-\udfff]")
