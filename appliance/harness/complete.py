"""The `complete` harness: a base model continues the untouched start once; what it wrote is the answer.

Made for functions: the start follows a preamble that shows what kind of file this is, and sampling stops where a
line begins without indentation, since there the body has ended. The preamble is part of the prompt only.
"""

from __future__ import annotations

import string
from collections.abc import Mapping

from appliance.nouns import Task

FILE = "solution.py"
KINDS: tuple[str, ...] = ("function",)
"""Kinds of task that what it writes can be handed in for."""

STOP: tuple[str, ...] = tuple(
    f"\n{first}" for first in string.ascii_letters + string.digits + string.punctuation
)
"""A new line that starts with anything but white space ends the body."""


PREAMBLE = '''"""Small functions, each with a docstring and a correct body."""


def plus_two(n: int) -> int:
    """Return n plus two.

    >>> plus_two(3)
    5
    """
    return n + 2


'''
"""One worked example, typed as the starts are: without it a base model mostly writes something else than a body."""


def prompt(task: Task) -> str:
    """The text whose tokens the model continues."""
    return PREAMBLE + task.start


def artefacts(task: Task, written: bytes) -> Mapping[str, str]:
    """The files to be judged. Bytes that are no UTF-8 (a token cut in half) become U+FFFD and fail there."""
    return {FILE: task.start + written.decode("utf-8", errors="replace")}
