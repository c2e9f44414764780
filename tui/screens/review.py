"""The Review screen: people look at attempts, blind first, beside what others of the group handed in.

It reads; a verdict is sent by the app to the daemon, which knows from the kernel who sends it.
"""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Footer

from appliance.tui.widgets import review
from appliance.tui.widgets.pane import Pane, View
from appliance.tui.widgets.review import Reviewing


class ReviewScreen(Screen[None]):
    """Queue and task above, submission and sibling side by side below; from 120 columns on, all in one row."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - as Textual declares them
    CSS = """
    ReviewScreen { layout: vertical; }
    ReviewScreen Pane { height: 1; }
    ReviewScreen #header { background: $panel; }
    ReviewScreen .titled { border-top: solid $primary; border-title-color: $text; border-title-style: bold; }
    ReviewScreen.ascii .titled { border-top: ascii $primary; }
    ReviewScreen #message { height: 2; }
    ReviewScreen #upper { layout: horizontal; height: 8; }
    ReviewScreen #lower { layout: horizontal; height: 1fr; }
    ReviewScreen #queue, ReviewScreen #task, ReviewScreen #submission, ReviewScreen #sibling { height: 1fr; }
    ReviewScreen #queue { width: 2fr; margin-right: 1; }
    ReviewScreen #task { width: 3fr; }
    ReviewScreen #submission { width: 1fr; margin-right: 1; }
    ReviewScreen #sibling { width: 1fr; }
    ReviewScreen.-wide #upper { height: 14; }
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self.set_class(view.glyphs.ascii, "ascii")

    def compose(self) -> ComposeResult:
        view = self._view
        yield Pane(review.HEADER, view, id="header", titled=False)
        yield Pane(review.MESSAGE, view, id="message", titled=False)
        with Container(id="upper"):
            yield Pane(review.QUEUE, view, id="queue")
            yield Pane(review.TASK, view, id="task")
        with Container(id="lower"):
            yield Pane(review.SUBMISSION, view, id="submission")
            yield Pane(review.SIBLING, view, id="sibling")
        yield Footer(show_command_palette=False)

    def show(self, view: View) -> None:
        """Draw another view in every pane."""
        self._view = view
        for pane in self.query(Pane):
            pane.show(view)

    @property
    def reviewing(self) -> Reviewing:
        """What it shows now."""
        return self._view.review or Reviewing()

    def turn(self, what: str, way: str) -> Reviewing:
        """What it shows after a key: `what` is item, sibling or scroll, `way` next or previous."""
        now, step = self.reviewing, 1 if way == "next" else -1
        if what == "item":
            last = max(0, len(now.items) - 1)
            place = max(0, min(last, now.place + step))
            return replace(now, place=place, sibling=0, scroll=0, message="")
        if what == "sibling":
            count = len(now.sight.siblings) if now.sight else 0
            return replace(now, sibling=(now.sibling + step) % count if count else 0, scroll=0)
        return replace(now, scroll=max(0, now.scroll + 5 * step))
