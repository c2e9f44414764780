"""Signals: one file each, named as in `[quality.NAME]` of pool.toml; helpers have an underscore in their name.

What a right submission is worth beyond being right. A signal is a module with these names:

- `ROLES`: the roles that it can have.
- `OPTIONS`: which of `allowance` and the like its table may hold.
- `TOOLS`: the installed distributions that it cannot do without.
- `LANGUAGE`: the language of the files that it can look at, as `languages` names them; empty is any text.
- `CONFIG`: everything that decides what it finds besides its own source, as text.
- `applies(task) -> str`: why it has nothing to look at in a task; empty when it has.
- `read(exhibit, wanted) -> Reading`: look. SandboxError is the host's failure; everything else is a reading.

Every signal is read against the untouched start, so that only what a submission added counts, and whatever lies in
the candidate's tree to steer a tool (a configuration, a suppression, a file name) is given to no tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from appliance.examination import Opener
from appliance.nouns import SignalRole, Task

SHOWN_TEXT = 160
"""Characters of a remark that a record keeps."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task wants of one signal."""

    role: SignalRole
    weight: float = 0.0
    """Share of all secondary signals; they sum to 1. 0 for the other roles."""
    at_least: float = 1.0
    """As a gate it is open at this value or above."""
    allowance: int = 0
    """How many new findings cost nothing."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What a signal may look at."""

    task: Task
    artefacts: Mapping[str, bytes]
    start: Mapping[str, bytes]
    """The untouched files that the candidate began with, by name."""
    gold: Mapping[str, bytes]
    """The task's own solution, as artefacts: a measure for what has no absolute one."""
    jails: Opener
    """Of the task's image: for running the candidate."""
    tools: Opener
    """Of the tools' image: for reading it."""
    seed: int
    clock: Callable[[], float]

    @property
    def now(self) -> dict[str, bytes]:
        """The files that there are with the submission in place."""
        return {**self.start, **self.artefacts}

    @property
    def changed(self) -> frozenset[str]:
        """Names of the files that are new, or not what they were."""
        return frozenset(name for name, body in self.artefacts.items() if self.start.get(name) != body)


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that a tool found."""

    code: str
    """The tool's own name for the rule."""
    file: str
    line: int
    """From 1; 0 when it concerns the whole file."""
    message: str
    text: str = ""
    """The line itself, without its indentation: what makes the same remark the same after lines have moved."""

    @property
    def key(self) -> tuple[str, str]:
        return self.code, self.text

    def told(self) -> str:
        """In one line, for a record; the text is the candidate's, to be cleaned by whoever writes it down."""
        return f"{self.code} {self.file}:{self.line} {self.message}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a signal found."""

    raw: float
    """In the signal's own unit."""
    value: float
    """In [0, 1]; 1 is as good as it can be."""
    remarks: tuple[Remark, ...] = ()
    review: str = ""
    """Why a person should look at it; it never earns anything."""
    not_applicable: str = ""
    """Why there was nothing to look at; the value is then 1."""


def not_applicable(why: str) -> Reading:
    """The reading of a signal that has nothing to look at."""
    return Reading(0.0, 1.0, not_applicable=why)
