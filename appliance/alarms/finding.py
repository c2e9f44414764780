"""What a signal found: the record of an alarm before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["info", "warn", "critical"]
Action = Literal["", "look", "audit", "tiers", "quarantine", "pause"]
"""What follows: nothing, a person looks, more audits, other tiers, the task is out of use, the run should pause.

Only `quarantine` is done by the program itself; the others are proposed.
"""

SIGNALS: Mapping[str, str] = {
    "M1": "tripwire",
    "M2": "task spike",
    "M3": "family spike",
    "M4": "hidden gap",
    "M5": "reward and evaluation part",
    "M6": "abrupt change",
    "M7": "change point",
    "M8": "plateau",
    "M9": "wasted attempts",
    "M10": "laundering",
    "M11": "gold control",
    "M12": "flaky cases",
    "M13": "duplicates",
    "M14": "too little work",
    "M15": "mastered task slips",
    "M16": "difficulty drifts",
    "M17": "length or entropy couples",
    "M18": "judge health",
}
"""Names as in the notes on monitoring; docs/alarms.md says what each is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One signal about one subject: a task, a family, or `run`."""

    signal: str
    level: Level
    subject: str
    text: str
    snapshot: Mapping[str, Any] = field(default_factory=dict)
    """The numbers that it was found by; small."""
    cause: tuple[str, ...] = ()
    """Ids of attempts or groups that show it."""
    action: Action = ""
