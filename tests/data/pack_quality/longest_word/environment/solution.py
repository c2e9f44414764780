"""Words."""

import sys


def longest_word(words: list[str]) -> str:
    """Return the first longest word."""
    raise NotImplementedError


def shout(word: str) -> str:
    return word.upper()  # type: ignore[no-any-return]
