"""The learner's vital signs: the last value of each metric and its curve."""

from __future__ import annotations

from textual.content import Content

from appliance.tui.widgets.pane import DIM, NO_DATA, Drawing, Lines, View
from appliance.tui.widgets.sparkline import span, sparkline

LABEL, VALUE = 13, 11
METRICS = (
    ("entropy", "entropy"),
    ("grad_norm", "grad norm"),
    ("loss", "loss"),
    ("mean_abs_logratio", "|log ratio|"),
    ("k3", "k3"),
    ("truncated", "cut off"),
    ("sampled_tokens", "tokens"),
)
"""Metric and its name on the screen. |log ratio| and k3 compare the learner with the engine per token."""


def draw(view: View, width: int, height: int) -> Lines:
    """One line per metric, as many as fit."""
    if not view.snapshot.updates:
        return [Content.styled(f" {NO_DATA}: no update is done", DIM)]
    return [_line(view, metric, name, width) for metric, name in METRICS][:height]


def _line(view: View, metric: str, name: str, width: int) -> Content:
    values = view.snapshot.metric(metric)
    last = values[-1]
    told = "n/a" if last is None else f"{last:.4g}"
    low, high = span(values)
    drawn = sparkline(values, max(0, width - LABEL - VALUE - 1), 1, view.glyphs, low=low, high=high)[0]
    return Content.assemble((f" {name}".ljust(LABEL), "bold"), f"{told:>{VALUE - 2}}  ", drawn)


LEARNER = Drawing(lambda view: "learner", draw)
