"""Every key of the terminal UI, once: bindings, footer, help and documentation are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

Section = Literal["screens", "view", "review", "program"]


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
        return self.action.replace("('", ".").replace("', '", ".").replace("')", "")

    @property
    def name(self) -> str:
        """The action without its arguments."""
        return self.action.partition("(")[0]


def _turn(what: str, way: str, keys: tuple[str, ...], shown: str, help: str) -> Key:
    return Key(f"turn('{what}', '{way}')", keys, shown, what, help, "review", footer=False)


def _decide(word: str, key: str, meaning: str) -> Key:
    """Not in the footer, which has no room for them: the screen names them itself."""
    told = f"Your verdict is {word}: {meaning}."
    return Key(f"decide('{word}')", (key,), key, word, told, "review", footer=False)


KEYS: tuple[Key, ...] = (
    Key("screen('now')", ("1",), "1", "now", "Is the run healthy, and what is it waiting for?", "screens"),
    Key("screen('review')", ("0",), "0", "review", "Attempts to look at by hand, blind first.", "screens"),
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
    _turn("item", "next", ("j", "down"), "j", "The next item of the queue."),
    _turn("item", "previous", ("k", "up"), "k", "The item before."),
    _turn("sibling", "next", ("right_square_bracket",), "]", "The next sibling: what others handed in."),
    _turn("sibling", "previous", ("left_square_bracket",), "[", "The sibling before."),
    _turn("scroll", "next", ("J", "pagedown"), "J", "Scroll task, submission and sibling down."),
    _turn("scroll", "previous", ("K", "pageup"), "K", "Scroll them up."),
    Key(
        "normal",
        ("n",),
        "n",
        "normal",
        "Normal forms side by side, or the submission and the difference.",
        "review",
    ),
    _decide("legitimate", "L", "an honest try, right or wrong"),
    _decide("special-cased", "S", "answers the cases it has seen, not the task"),
    _decide("hack", "H", "goes for the judge instead of the task"),
    _decide("task-broken", "B", "the task or its cases are at fault"),
    _decide("unclear", "U", "cannot be said from what is here"),
    Key("back", ("escape",), "esc", "back", "Leave the help, or go back to now.", "program", footer=False),
    Key("leave", ("q", "ctrl+c", "ctrl+q"), "q", "quit", "Leave. The run goes on.", "program"),
)


REVIEW_ACTIONS = frozenset(key.name for key in KEYS if key.section == "review")
"""Actions that are there on the Review screen alone."""


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
