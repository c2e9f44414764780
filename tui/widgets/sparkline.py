"""A curve in one or more rows of characters. Pure text: no colour carries meaning here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from appliance.tui.widgets.glyphs import Glyphs

Values = Sequence[float | None]


def sparkline(
    values: Values, width: int, height: int, glyphs: Glyphs, *, low: float, high: float
) -> list[str]:
    """Draw `values` from left to right as `height` rows of at most `width`; None is a gap.

    More values than columns are averaged per column. A value at or below `low` still shows the lowest level.
    """
    columns = _fit(values, max(width, 0))
    steps = len(glyphs.levels) - 1
    heights = [None if value is None else _level(value, low, high, steps * height) for value in columns]
    rows = []
    for row in reversed(range(height)):
        rows.append("".join(_cell(level, row, steps, glyphs) for level in heights))
    return rows


def span(values: Values) -> tuple[float, float]:
    """The lowest and the highest value, (0, 1) when there is none."""
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else (0.0, 1.0)


def _fit(values: Values, width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    if not width:
        return []
    edges = [column * len(values) // width for column in range(width + 1)]
    return [_mean(values[start:end]) for start, end in itertools.pairwise(edges)]


def _mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _level(value: float, low: float, high: float, top: int) -> int:
    flat = (
        0.5 if value > 0 else 0.0
    )  # a constant curve has no height of its own, but zero must not look like half
    share = flat if high <= low else (value - low) / (high - low)
    return max(1, min(top, round(share * top)))


def _cell(level: int | None, row: int, steps: int, glyphs: Glyphs) -> str:
    if level is None:
        return glyphs.gap if row == 0 else " "
    return glyphs.levels[max(0, min(steps, level - row * steps))]
