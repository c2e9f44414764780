"""Wrong values for a test to demand: near the right one, or seen nowhere before. Plain Python values only."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Stock:
    """Where wrong values come from."""

    siblings: Sequence[Any]
    """Values that other tests of the task expect: by its looks, none of them is less right than the right one."""
    given: Sequence[Any]
    """Wrong values that the author knows, for instance what a mutant of the gold solution gave."""
    draw: random.Random

    def wrong(self, right: Any, loose: bool) -> list[Any]:
        """A few values that differ from the right one beyond any tolerance; `loose`: not only in order."""
        alike = [value for value in self.siblings if type(value) is type(right)]
        self.draw.shuffle(alike)
        given = [value for value in self.given if type(value) is type(right)]
        found: list[Any] = []
        for value in (*given, *alike[:2], *spoiled(right)):
            same_parts = loose and sorted(map(repr, value)) == sorted(map(repr, right))
            if _differs(right, value) and not same_parts and value not in found:
                found.append(value)
        return found[:3]


def _differs(right: Any, value: Any) -> bool:
    """Whether a value is wrong beyond any tolerance that a test would have."""
    if isinstance(right, float) and isinstance(value, int | float):
        return math.isfinite(value) and abs(right - value) > 0.5 * max(1.0, abs(right))
    return bool(right != value) and "inf" not in repr(value)


def spoiled(right: Any) -> list[Any]:
    """Values near the right one, of its own type where there is one."""
    if isinstance(right, bool):
        return [not right]
    if isinstance(right, int):
        return [right + 1, right - 1, right * 10 + 2]
    if isinstance(right, float):
        return [right * 2 + 1, -right - 2]
    if isinstance(right, str):
        return [right[:-1], right + right[-1:], right.swapcase(), "0"]
    if isinstance(right, bytes):
        return [right[:-1], right + right[-1:], b"0"]
    if isinstance(right, list | tuple):
        return _spoiled_sequence(right)
    if isinstance(right, dict):
        last = list(right.items())[-1:]
        return [{**right, key: other} for key, item in last for other in spoiled(item)[:2]] or [{"": 0}]
    if isinstance(right, set):
        return [right - {item} or {0, ""} for item in sorted(right, key=repr)[:1]]
    return [0, ""]


def _spoiled_sequence(right: Any) -> list[Any]:
    kind = type(right)
    if not right:
        return [kind([0])]
    inner = [kind([*right[:-1], other]) for other in spoiled(right[-1])[:2]]
    return [*inner, right[:-1], right + right[-1:]]


def absurd(right: Any, draw: random.Random) -> Any:
    """A value of the same type that nobody has seen before."""
    fresh = f"{draw.getrandbits(96):x}"
    if isinstance(right, int) and not isinstance(right, bool):
        return draw.getrandbits(60) + 7
    if isinstance(right, float):
        return draw.getrandbits(50) + 0.5
    if isinstance(right, bytes):
        return fresh.encode()
    if isinstance(right, list | tuple | set):
        return type(right)([fresh])
    return {fresh: fresh} if isinstance(right, dict) else fresh
