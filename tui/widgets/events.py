"""The last events, newest first. Stages are left out: the strip shows them."""

from __future__ import annotations

from textual.content import Content

from appliance.narrate import narrate
from appliance.tui.widgets.header import clock_time
from appliance.tui.widgets.pane import DIM, NO_DATA, Drawing, Lines, View

WRONG = frozenset({"run.failed"})


def draw(view: View, width: int, height: int) -> Lines:
    """As many events as fit."""
    if not view.snapshot.events:
        return [Content.styled(f" {NO_DATA}: nothing has happened", DIM)]
    return [
        Content.assemble(
            (f" {clock_time(event['time'])} ", DIM),
            (narrate(event["kind"], event["data"]), "bold $text-error" if event["kind"] in WRONG else ""),
        )
        for event in view.snapshot.events[:height]
    ]


EVENTS = Drawing(lambda view: "last events", draw)
