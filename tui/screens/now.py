"""The Now screen: is the run healthy, and what is it waiting for?"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from appliance.tui.widgets import attempt, events, header, learner, stages, trends, work
from appliance.tui.widgets.pane import Pane, View


class NowScreen(Screen[None]):
    """Panes stacked in a column; from 120 columns on in two."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - as Textual declares them
    VERTICAL_BREAKPOINTS = [(0, "-short"), (36, "-tall")]  # noqa: RUF012
    CSS = """
    NowScreen { layout: vertical; }
    NowScreen Pane { height: 1; }
    NowScreen #header { background: $panel; }
    NowScreen #middle, NowScreen #bottom, NowScreen #side { height: auto; }
    NowScreen .titled { border-top: solid $primary; border-title-color: $text; border-title-style: bold; }
    NowScreen.ascii .titled { border-top: ascii $primary; }
    NowScreen #stages { height: 2; }
    NowScreen #trends { height: 3; }
    NowScreen #work { height: 4; }
    NowScreen #learner { display: none; }
    NowScreen #events { height: 6; }
    NowScreen #bottom { height: 1fr; }
    NowScreen #attempt { height: 1fr; }

    NowScreen.-tall #verdict { height: 2; }
    NowScreen.-tall #stages { height: 3; }
    NowScreen.-tall #trends { height: 11; }
    NowScreen.-tall #work { height: 6; }
    NowScreen.-tall #learner { display: block; height: 8; }
    NowScreen.-tall #events { height: 8; }
    NowScreen.-tall #attempt { min-height: 4; }

    NowScreen.-wide #middle, NowScreen.-wide #bottom { layout: horizontal; }
    NowScreen.-wide #trends, NowScreen.-wide #events { width: 1fr; margin-right: 2; }
    NowScreen.-wide #side, NowScreen.-wide #attempt { width: 1fr; }
    NowScreen.-wide #trends, NowScreen.-wide #events { height: 1fr; }
    NowScreen.-wide.-short #middle { height: 4; }
    NowScreen.-wide.-tall #middle { height: 18; }
    NowScreen.-wide.-tall #work { height: 7; }
    NowScreen.-wide.-tall #side { height: 1fr; }
    NowScreen.-wide.-tall #learner { height: 1fr; }
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self.set_class(view.glyphs.ascii, "ascii")

    def compose(self) -> ComposeResult:
        view = self._view
        yield Pane(header.HEADER, view, id="header", titled=False)
        yield Pane(header.VERDICT, view, id="verdict", titled=False)
        yield Pane(stages.STRIP, view, id="stages")
        with Container(id="middle"):
            yield Pane(trends.TRENDS, view, id="trends")
            with Vertical(id="side"):
                yield Pane(work.WORK, view, id="work")
                yield Pane(learner.LEARNER, view, id="learner")
        with Container(id="bottom"):
            yield Pane(events.EVENTS, view, id="events")
            yield Pane(attempt.ATTEMPT, view, id="attempt")
        yield Footer(show_command_palette=False)

    def show(self, view: View) -> None:
        """Draw another view in every pane."""
        for pane in self.query(Pane):
            pane.show(view)
