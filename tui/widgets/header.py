"""Which run, how old the data is and whether it moves; below it the verdict on the run."""

from __future__ import annotations

import time

from textual.content import Content

from appliance.clean import clean_line
from appliance.tui.widgets.pane import MOOD_STYLES, Drawing, Lines, View


def clock_time(moment: float) -> str:
    """Local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(moment))


def draw_header(view: View, width: int, height: int) -> Lines:
    """Program and run on the left; mode and time of the data on the right, never cut."""
    run = view.snapshot.run
    right = Content.assemble(
        "read-only · " if view.read_only else "",
        draw_mode(view),
        f" · data {clock_time(view.snapshot.time)} ",
    )
    name = f" {clean_line(run['id'])} · {clean_line(run['state'])}" if run else " no run"
    left = Content.assemble((" appliance", "bold"), " now ·", name)
    left = left.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
    return [Content.assemble(left, " " * max(1, width - left.cell_length - right.cell_length), right)]


def draw_mode(view: View) -> tuple[str, str]:
    """Whether what is shown moves: text and style."""
    frozen = view.held or view.snapshot.frozen or bool(view.trouble)
    return ("FROZEN", "bold reverse") if frozen else ("LIVE", "bold")


def draw_verdict(view: View, width: int, height: int) -> Lines:
    """The word, then its reason; a store that cannot be read comes first."""
    health = view.health
    line = Content.assemble(
        " ", (f" {health.word.upper()} ", f"{MOOD_STYLES[health.mood]} reverse"), f" {health.reason}"
    )
    return [Content(f" store: {clean_line(view.trouble)}"), line] if view.trouble else [line]


HEADER = Drawing(lambda view: "", draw_header)
VERDICT = Drawing(lambda view: "", draw_verdict)
