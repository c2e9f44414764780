"""The help: every key, and the rules behind the verdict word, each from its one table."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance.tui.health import RECENT, RULES
from appliance.tui.keys import KEYS, bindings


def help_text() -> Content:
    """Keys, then rules."""
    lines = [Content.styled("Keys", "bold underline")]
    lines += [Content.assemble((f"  {key.shown:<5}", "bold"), f" {key.help}") for key in KEYS]
    lines += [Content(""), Content.styled("The verdict: the first rule that holds", "bold underline")]
    lines += [Content.assemble((f"  {word:<9}", "bold"), f" {rule}") for word, rule in RULES]
    lines += [
        Content(""),
        Content(f"Rates cover the last {RECENT} updates. The word describes the numbers; it"),
    ]
    lines += [Content("does not say that the judge is right.")]
    return Content("\n").join(lines)


class HelpScreen(ModalScreen[None]):
    """Help over the screen below it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("app.")
    CSS = """
    HelpScreen { align: center middle; }
    HelpScreen VerticalScroll { width: 100; max-width: 100%; height: auto; max-height: 100%;
        border: solid $primary; background: $surface; padding: 0 1; }
    HelpScreen.ascii VerticalScroll { border: ascii $primary; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = "help: esc to go back"
            yield Static(help_text(), markup=False)
