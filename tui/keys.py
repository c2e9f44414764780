"""Every key of the terminal UI, once: bindings, footer, help and documentation are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

Section = Literal["screens", "view", "program"]


@dataclass(frozen=True, slots=True)
class Key:
    """One action and the keys that start it."""

    action: str
    """Name of the app's action; with arguments as Textual writes them."""
    keys: tuple[str, ...]
    """Textual's names of the keys; the first is the one shown."""
    shown: str
    label: str
    """One word for the footer."""
    help: str
    section: Section
    footer: bool = True

    @property
    def id(self) -> str:
        return self.action.replace("('", ".").replace("')", "")


KEYS: tuple[Key, ...] = (
    Key("screen('now')", ("1",), "1", "now", "Is the run healthy, and what is it waiting for?", "screens"),
    Key(
        "freeze",
        ("p",),
        "p",
        "freeze",
        "Hold the screen still, or let it go on. Never touches the run.",
        "view",
    ),
    Key("reread", ("r",), "r", "refresh", "Open the store anew and read it now.", "view"),
    Key(
        "explain",
        ("question_mark", "f1"),
        "?",
        "help",
        "These keys, and the rules behind the verdict.",
        "program",
    ),
    Key("back", ("escape",), "esc", "back", "Leave the help.", "program", footer=False),
    Key("leave", ("q", "ctrl+c", "ctrl+q"), "q", "quit", "Leave. The run goes on.", "program"),
)


def bindings(target: str = "") -> list[BindingType]:
    """The table as Textual's bindings. A modal screen hides the app's, so it repeats them with target `app.`."""
    return [
        Binding(
            ",".join(key.keys),
            target + key.action,
            key.label,
            show=key.footer,
            key_display=key.shown,
            priority="ctrl+c" in key.keys,
            tooltip=key.help,
            id=key.id,
        )
        for key in KEYS
    ]
