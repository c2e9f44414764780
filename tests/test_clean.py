"""Hostile text is harmless after cleaning, whatever it is made of."""

from __future__ import annotations

import random
import unicodedata

import pytest

from appliance.clean import clean_bytes, clean_line, clean_text

CASES = {
    "plain\n\ttext é 漢字 🙂": "plain\n\ttext é 漢字 🙂",
    "\x1b[31mred\x1b[0m": "red",
    "\x1b[2J\x1b[Htop": "top",
    "\x1b]0;title\x07shown": "shown",
    "\x1b]52;c;cm0gLXJm\x1b\\shown": "shown",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\": "link",
    "\x1bPq payload\x1b\\after": "after",
    "\x9b31mred\x9d0;t\x9cend": "redend",
    "\x1bcreset": "reset",
    "\x1b(Bcharset": "charset",
    "\x1b": "",
    "\x1b[": "",
    "\x1b[38;5": "",
    "\x1b]no end": "no end",
    "\x1b\x1b[0m[31mx": "[31mx",
    "good\rbad\x08\x07\x7f": "goodbad",
    "a\u202eb\u2066c\u200bd\ufeffe\u00adf": "abcdef",
    "tag\U000e0041\U000e0042s\ufe0f": "tags",
    "one\u2028two": "one\ntwo",
    "lone \udc80": "lone \\udc80",
}


@pytest.mark.parametrize("raw", CASES)
def test_known_cases(raw: str) -> None:
    assert clean_text(raw) == CASES[raw]


def test_limit_counts_the_ellipsis() -> None:
    assert clean_text("abcdef", 6) == "abcdef"
    assert clean_text("abcdefg", 6) == "abcde…"
    assert clean_text("\x1b[1mab", 2) == "ab"
    assert clean_text("ab", 0) == ""


def test_bytes_keep_what_is_not_text_visible() -> None:
    assert clean_bytes(b"\xff\xfeok\x1b[0m", 80) == "\\xff\\xfeok"
    assert clean_bytes("é".encode() + b"\x9b31m", 80) == "é\\x9b31m"
    assert clean_bytes(b"x" * 10, 4) == "xxx…"


def test_line_has_no_line_ends() -> None:
    assert clean_line(" a\n\n b\tc\u2028d\x0be\x85f ") == "a b c def"
    assert clean_line("one\ntwo\nthree", 8) == "one two…"


def test_nothing_hostile_survives_random_input() -> None:
    """No control or format character survives, and cleaning twice changes nothing."""
    draw = random.Random(7)
    alphabet = "\x1b\x9b\x9d\x90[]P\\;?0m\x07\x9c\n\ta\u202e\u200d\r\x00\U000e0001\ud800"
    for _ in range(3000):
        shown = clean_text("".join(draw.choices(alphabet, k=draw.randrange(24))))
        assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c not in "\n\t"]
        assert clean_text(shown) == shown
        shown.encode()


def test_every_format_and_control_character_is_known() -> None:
    """The explicit ranges cover what this Python's Unicode tables call control, format and surrogate."""
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs"} and chr(code) not in "\n\t":
            assert chr(code) not in clean_text(f"a{chr(code)}b"), hex(code)


def test_long_hostile_text_is_linear() -> None:
    """Unterminated openings by the ten thousand must not make matching quadratic: this would take minutes."""
    for opening in ("\x1b]", "\x9d", "\x1b[1", "\x9b;", "\x1bP", "\x1b "):
        clean_text(opening * 200_000)
