"""Training reward and held-out pass rate over the updates: one line each, or curves where there is room."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from appliance.narrate import fixed, percent
from appliance.tui.widgets.glyphs import Glyphs
from appliance.tui.widgets.pane import DIM, NO_DATA, Drawing, Lines, View
from appliance.tui.widgets.sparkline import Values, span, sparkline

LABEL = 10
CURVE_HEIGHT = 6
MOST_REPEATED = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """One named series, with its first and last value told in words."""

    name: str
    values: Values
    told: str
    nothing: str

    @property
    def known(self) -> bool:
        return any(value is not None for value in self.values)


def draw(view: View, width: int, height: int) -> Lines:
    """Both series, one under the other, on the same steps."""
    curves = (_reward(view), _held_out(view))
    if height < CURVE_HEIGHT:
        room = width - LABEL - max(len(curve.told) for curve in curves) - 2
        return [_line(curve, view.glyphs, room) for curve in curves]
    rows = height // 2
    return [line for curve in curves for line in _plot(curve, view.glyphs, width, rows)]


def _reward(view: View) -> Curve:
    values = view.snapshot.metric("reward_mean")
    known = [value for value in values if value is not None]
    told = f"{fixed(known[0])} → {fixed(known[-1])}  best {fixed(max(known))}" if known else ""
    return Curve("reward", [None, *values], told, f"{NO_DATA}: the first update is not done")


def _held_out(view: View) -> Curve:
    """One place per step from the first update shown, so that both curves share their x axis."""
    rates, updates = view.snapshot.pass_rates, view.snapshot.updates
    first = updates[0]["step"] - 1 if updates else 0
    last = max([first, *(row["step"] for row in updates[-1:]), *(step for step, _ in rates[-1:])])
    at = dict(rates)
    known = [rate for _, rate in rates if rate is not None]
    told = ""
    if known:
        told = percent(known[0]) + (
            f" → {percent(known[-1])}  best {percent(max(known))}" if len(known) > 1 else ""
        )
    nothing = f"{NO_DATA}: the first evaluation is not done"
    return Curve("held out", [at.get(step) for step in range(first, last + 1)], told, nothing)


def _line(curve: Curve, glyphs: Glyphs, room: int) -> Content:
    name = (f" {curve.name}".ljust(LABEL), "bold")
    if not curve.known:
        return Content.assemble(name, (curve.nothing, DIM))
    low, high = span(curve.values)
    drawn = sparkline(_wider(curve.values, room, 3), room, 1, glyphs, low=low, high=high)[0]
    return Content.assemble(name, drawn.ljust(room), "  ", curve.told)


def _plot(curve: Curve, glyphs: Glyphs, width: int, rows: int) -> list[Content]:
    head = Content.assemble((f" {curve.name}".ljust(LABEL), "bold"), curve.told or (curve.nothing, DIM))
    if not curve.known:
        return [head, *[Content("")] * (rows - 1)]
    low, high = span(curve.values)
    drawn = sparkline(
        _wider(curve.values, width - 8, MOST_REPEATED), width - 8, rows - 1, glyphs, low=low, high=high
    )
    marks = [fixed(high), *[""] * (rows - 3), fixed(low)] if rows > 2 else [fixed(high)]
    return [head, *(_row(mark, line) for mark, line in zip(marks, drawn, strict=True))]


def _row(mark: str, line: str) -> Content:
    return Content.assemble((f" {mark:>5} ", DIM), line)


def _wider(values: Values, width: int, most: int) -> Values:
    """Repeat each value so that few of them still make a curve."""
    times = max(1, min(most, width // max(1, len(values))))
    return [value for value in values for _ in range(times)]


TRENDS = Drawing(lambda view: "reward and held-out pass rate", draw)
