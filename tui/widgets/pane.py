"""A titled area that shows a `View` through a pure drawing function, and what every drawing shares.

A drawing gets its size and returns lines; the pane cuts them. Markup is never parsed, so text is only text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from appliance.tui.health import BAD, GOOD, NOTICE, Health
from appliance.tui.source import Snapshot
from appliance.tui.widgets.glyphs import Glyphs

if TYPE_CHECKING:
    from appliance.tui.widgets.review import Reviewing

MOOD_STYLES = {GOOD: "bold $text-success", NOTICE: "bold $text-warning", BAD: "bold $text-error"}
DIM = "$text-muted"
NO_DATA = "no data yet"


@dataclass(frozen=True, slots=True)
class View:
    """One moment as it is drawn."""

    snapshot: Snapshot
    health: Health
    now: float
    glyphs: Glyphs
    held: bool = False
    """The operator froze the screen."""
    read_only: bool = False
    trouble: str = ""
    """Why the store could not be read just now; the snapshot then is the last good one."""
    review: Reviewing | None = None
    """What the Review screen shows, while it is the one on top."""


Lines = Sequence[Content | str]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a pane shows: `title` of a view, and `draw` of a view, a width and a height in cells."""

    title: Callable[[View], str]
    draw: Callable[[View, int, int], Lines]


class Pane(Widget):
    """One drawing on the screen."""

    def __init__(self, drawing: Drawing, view: View, *, id: str, titled: bool = True) -> None:
        super().__init__(id=id, classes="titled" if titled else "")
        self._drawing = drawing
        self.show(view)

    def show(self, view: View) -> None:
        """Draw another view."""
        self._view = view
        self.border_title = Content(view.glyphs.fold(self._drawing.title(view)))
        self.refresh()

    def render(self) -> Content:
        width, height = self.content_size
        drawn = self._drawing.draw(self._view, width, height)
        lines = [_content(line).truncate(width, ellipsis=True) for line in drawn[:height]]
        whole = Content("\n").join(lines)
        return Content(self._view.glyphs.fold(whole.plain), list(whole.spans), strip_control_codes=False)


def _content(line: Content | str) -> Content:
    return line if isinstance(line, Content) else Content(line)
