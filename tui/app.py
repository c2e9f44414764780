"""The terminal UI: polls a `Source`, judges what it reads, and hands views to the screen.

It holds no state but what is on the screen and never writes; killing it loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from appliance.errors import ApplianceError
from appliance.reads import Row
from appliance.tui.health import judge_health
from appliance.tui.keys import REVIEW_ACTIONS, bindings
from appliance.tui.screens.help import HelpScreen
from appliance.tui.screens.now import NowScreen
from appliance.tui.screens.review import ReviewScreen
from appliance.tui.source import Source
from appliance.tui.widgets.glyphs import Glyphs
from appliance.tui.widgets.pane import View
from appliance.tui.widgets.review import Reviewing

POLL_S = 0.5
REDRAW_S = 5.0
"""How often ages on the screen are redrawn while the store stands still."""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who reviews, and how: both functions belong to the shell, since this room reads and nothing else."""

    uid: int
    decide: Callable[[int, str], str]
    """Sends a verdict on an item and says what came of it; an ApplianceError says what to do instead."""
    statement: Callable[[Row, Row], str]
    """What the task of an item asks, from the item and the recipe of its run."""


class WatchApp(App[None]):
    """One store being watched. `clock` returns Unix seconds."""

    TITLE = "appliance"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(
        self,
        source: Source,
        clock: Callable[[], float],
        glyphs: Glyphs,
        *,
        read_only: bool = False,
        reviewer: Reviewer | None = None,
    ) -> None:
        super().__init__()
        self._source, self._clock, self._glyphs, self._read_only = source, clock, glyphs, read_only
        self._held, self._trouble, self._drawn = False, "", clock()
        self._snapshot = source.snapshot(self._drawn)
        self._reviewer = reviewer
        self._now = NowScreen(self._view())
        self._review = ReviewScreen(self._view())

    def on_mount(self) -> None:
        self.animation_level = "none"
        self.install_screen(self._review, "review")
        self.push_screen(self._now)
        self.set_interval(POLL_S, self.poll)

    def poll(self) -> None:
        """Read and redraw if a writer committed; otherwise only let ages grow now and then."""
        if self._held:
            return
        news = self._read(only_if_moved=True)
        if news or self._clock() - self._drawn >= REDRAW_S:
            self._draw()

    def _read(self, *, only_if_moved: bool) -> bool:
        """Take a new snapshot; keep the last one and say why when the store cannot be read."""
        before = self._trouble
        try:
            if not only_if_moved:
                self._source.reopen()
            elif not (self._source.moved() or self._trouble):
                return False
            self._snapshot, self._trouble = self._source.snapshot(self._clock()), ""
        except ApplianceError as error:
            self._trouble = error.message
            return self._trouble != before
        return True

    def _draw(self) -> None:
        self._drawn = self._clock()
        self._now.show(self._view())
        if self._reviews():
            self._show_review(self._review.reviewing)

    def _view(self) -> View:
        now = self._snapshot.time if self._held else self._drawn
        health = judge_health(self._snapshot, now)
        return View(self._snapshot, health, now, self._glyphs, self._held, self._read_only, self._trouble)

    # actions of the key table

    async def action_screen(self, name: str) -> None:
        while self.screen is not self._now:
            self.pop_screen()
        if name == "review":
            await self.push_screen("review")
            self._show_review(Reviewing())

    def action_freeze(self) -> None:
        self._held = not self._held
        if not self._held:
            self._read(only_if_moved=True)
        self._draw()

    def action_reread(self) -> None:
        self._read(only_if_moved=False)
        self._draw()

    def action_explain(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            screen = HelpScreen()
            screen.set_class(self._glyphs.ascii, "ascii")
            self.push_screen(screen)

    async def action_back(self) -> None:
        if self.screen is not self._now:
            self.pop_screen()

    def action_turn(self, what: str, way: str) -> None:
        self._show_review(self._review.turn(what, way))

    def action_normal(self) -> None:
        self._show_review(replace(self._review.reviewing, normal=not self._review.reviewing.normal, scroll=0))

    def action_decide(self, word: str) -> None:
        """Send a verdict; the item stays until its reviewer is done with it, and then the next one comes."""
        now = self._review.reviewing
        if now.sight is None or self._reviewer is None:
            return
        try:
            told = self._reviewer.decide(now.sight.item, word)
        except ApplianceError as error:
            told = f"{error.message}; {error.remedy}" if error.remedy else error.message
        self._show_review(replace(now, message=told))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the Review screen are there on it alone; nobody is offered a verdict that cannot be given."""
        if action not in REVIEW_ACTIONS:
            return True
        return self._reviews() and (action != "decide" or self._may_decide)

    # the Review screen

    @property
    def _may_decide(self) -> bool:
        return self._reviewer is not None and not self._read_only

    def _reviews(self) -> bool:
        return self.is_running and self.screen is self._review

    def _show_review(self, wanted: Reviewing) -> None:
        """Read the queue and the chosen item anew, and draw them; the item is kept where it has moved."""
        uid = self._reviewer.uid if self._reviewer else -1
        wanted = replace(wanted, may_decide=self._may_decide)
        try:
            items = tuple(self._source.docket(uid))
            place = _place(wanted, items)
            sight, statement = None, wanted.statement
            if items:
                sight, recipe = self._source.sight(items[place], uid)
                if self._reviewer and (wanted.sight is None or wanted.sight.item != sight.item):
                    statement = self._reviewer.statement(items[place], recipe)
            shown = replace(wanted, items=items, place=place, sight=sight, statement=statement)
        except ApplianceError as error:
            shown = replace(wanted, message=error.message)
        self._review.show(replace(self._view(), review=shown))

    def action_leave(self) -> None:
        self.exit()


def _place(wanted: Reviewing, items: tuple[Row, ...]) -> int:
    """Where the chosen item is now; the same place when it is gone."""
    if wanted.items and wanted.place < len(wanted.items):
        chosen = wanted.items[wanted.place]["id"]
        found = next((place for place, item in enumerate(items) if item["id"] == chosen), None)
        if found is not None:
            return found
    return max(0, min(wanted.place, len(items) - 1))
