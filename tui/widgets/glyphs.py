"""The drawing characters: Unicode, or plain ASCII where the terminal's encoding or type has no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of drawing characters."""

    levels: str
    """From empty to full."""
    bar: str
    """Full and empty."""
    gap: str
    """Where a curve has no value."""
    ascii: bool

    def fold(self, text: str) -> str:
        """Return `text`, as long as before, with what this set cannot draw replaced."""
        return text.translate(_FOLDED).encode("ascii", "replace").decode() if self.ascii else text


_FOLDED = str.maketrans({"…": "~", "→": ">", "·": "|", "▶": ">", "×": "x", "│": "|"})
UNICODE = Glyphs(" ▁▂▃▄▅▆▇█", "█░", "·", ascii=False)
ASCII = Glyphs(" _.-=+*#@", "#.", " ", ascii=True)


def glyphs_for(encoding: str | None, env: Mapping[str, str]) -> Glyphs:
    """Choose by the output's encoding and TERM: the Linux console has no block levels."""
    unicode_output = (encoding or "").lower().replace("-", "").startswith("utf8")
    return UNICODE if unicode_output and env.get("TERM") not in {"linux", "dumb"} else ASCII
