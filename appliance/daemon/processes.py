"""What the processes of a run are doing, as the kernel sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Doing = Literal["computes", "waits", "stopped", "blocked", "gone", "unseen"]
"""`unseen`: another user's, and hidden from us. `blocked`: in a system call that cannot be
interrupted, as a rule for a disk or a driver."""

BROKEN: tuple[Doing, ...] = ("stopped", "blocked", "gone")
COMPUTES_SHARE = 0.2
"""Of one core, above which a process computes; a thread that polls stays far below."""
MEASURE_S = 1.0
UNSEEN = "?"
_TICKS = os.sysconf("SC_CLK_TCK")


def _assumed() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that can hold a stage up.

    `stacks` is the file in which it answers when asked for its stacks (None: it is not asked). `owes` says whether a
    request to it is unanswered; where nobody knows, it is taken for yes.
    """

    name: str
    pid: int
    stacks: Path | None = None
    owes: Callable[[], bool] = _assumed


@dataclass(frozen=True, slots=True)
class Finding:
    """One process during the second in which it was measured; `cpu` is in cores."""

    holder: Holder
    doing: Doing
    cpu: float
    owes: bool

    @property
    def suspicion(self) -> int:
        """The higher, the likelier it is this process that holds things up."""
        return 4 * (self.doing in BROKEN) + 2 * (self.doing == "computes") + self.owes


def examine(holders: Sequence[Holder], pause: Callable[[float], object]) -> list[Finding]:
    """Measure each process over one second, in which `pause` waits."""
    before = [_read(holder.pid) for holder in holders]
    pause(MEASURE_S)
    return [_finding(holder, start, _read(holder.pid)) for holder, start in zip(holders, before, strict=True)]


def threads(pid: int) -> list[str]:
    """A line for each thread: its name, its state, and the place in the kernel where it sleeps."""
    lines = []
    for folder in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try:
            name, state = (folder / "comm").read_text().strip(), _stat(folder / "stat")[0]
        except OSError:
            continue
        lines.append(f"{folder.name} {name} {state} {_place(folder)}".rstrip())
    return lines


def _place(folder: Path) -> str:
    try:
        return (folder / "wchan").read_text()
    except OSError:
        return ""


def _finding(holder: Holder, before: tuple[str, float], after: tuple[str, float]) -> Finding:
    (state, spent), began = after, before[1]
    cpu = round(max(0.0, spent - began) / MEASURE_S, 2)
    return Finding(holder, _doing(state, before[0], cpu), cpu, holder.owes())


def _doing(state: str, before: str, cpu: float) -> Doing:
    if state in "ZX":
        return "gone"
    if state == UNSEEN:
        return "unseen"
    if state in "Tt":
        return "stopped"
    if cpu >= COMPUTES_SHARE:
        return "computes"
    # Twice: everybody is in this state for a moment now and then.
    return "blocked" if state == before == "D" else "waits"


def _read(pid: int) -> tuple[str, float]:
    """State letter (Z also for a process that is not there) and CPU seconds so far."""
    try:
        return _stat(Path(f"/proc/{pid}/stat"))
    except OSError:
        return "Z" if not _is_there(pid) else UNSEEN, 0.0


def _is_there(pid: int) -> bool:
    """A process of another user may be there although /proc does not show it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _stat(path: Path) -> tuple[str, float]:
    fields = path.read_bytes().rpartition(b")")[2].split()
    return fields[0].decode(), (int(fields[11]) + int(fields[12])) / _TICKS
