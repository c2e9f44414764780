"""How wide a text is on a screen."""

import unicodedata


def width(text):
    """Columns: wide characters take two, combining ones none."""
    return sum(_of(letter) for letter in text)


def _of(letter):
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def pad(text, columns):
    """The text with blanks at its end, so that it takes that many columns; longer text is left as it is."""
    return text + " " * max(0, columns - width(text))
