"""Words."""

import sys


def longest_word(words: list[str]) -> str:
    """Return the first longest word."""
    best = ""
    for word in words:
        if len(word) > len(best):
            best = word
    return best


def shout(word: str) -> str:
    return word.upper()  # type: ignore[no-any-return]
