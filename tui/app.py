"""The terminal UI: polls a `Source`, judges what it reads, and hands views to the screen.

It holds no state but what is on the screen and never writes; killing it loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from appliance.errors import ApplianceError
from appliance.tui.health import judge_health
from appliance.tui.keys import bindings
from appliance.tui.screens.help import HelpScreen
from appliance.tui.screens.now import NowScreen
from appliance.tui.source import Source
from appliance.tui.widgets.glyphs import Glyphs
from appliance.tui.widgets.pane import View

POLL_S = 0.5
REDRAW_S = 5.0
"""How often ages on the screen are redrawn while the store stands still."""


class WatchApp(App[None]):
    """One store being watched. `clock` returns Unix seconds."""

    TITLE = "appliance"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(
        self, source: Source, clock: Callable[[], float], glyphs: Glyphs, *, read_only: bool = False
    ) -> None:
        super().__init__()
        self._source, self._clock, self._glyphs, self._read_only = source, clock, glyphs, read_only
        self._held, self._trouble, self._drawn = False, "", clock()
        self._snapshot = source.snapshot(self._drawn)
        self._now = NowScreen(self._view())

    def on_mount(self) -> None:
        self.animation_level = "none"
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

    def _view(self) -> View:
        now = self._snapshot.time if self._held else self._drawn
        health = judge_health(self._snapshot, now)
        return View(self._snapshot, health, now, self._glyphs, self._held, self._read_only, self._trouble)

    # actions of the key table

    async def action_screen(self, name: str) -> None:
        await self.action_back()

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
        if isinstance(self.screen, HelpScreen):
            self.pop_screen()

    def action_leave(self) -> None:
        self.exit()
