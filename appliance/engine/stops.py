"""Finds stop strings in the bytes a sequence has produced so far, token by token.

A stop string may begin and end in the middle of a token. The token is kept, because it was sampled; only the
text handed to the environment is cut.
"""

from __future__ import annotations


class StopScanner:
    """Follows one sequence. Looks only at bytes that a new token can have completed."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop = tuple(text.encode() for text in stop if text)
        self._reach = max((len(needle) for needle in self._stop), default=1) - 1
        self.text = bytearray()
        self.cut: int | None = None
        """Where the earliest stop string begins, once one was found."""

    def push(self, piece: bytes) -> bool:
        """Append the bytes of one token; True when a stop string is now complete."""
        start = max(0, len(self.text) - self._reach)
        self.text += piece
        hits = [at for needle in self._stop if (at := self.text.find(needle, start)) >= 0]
        if hits:
            self.cut = min(hits)
        return bool(hits)

    @property
    def trimmed(self) -> bytes:
        return bytes(self.text[: self.cut])
