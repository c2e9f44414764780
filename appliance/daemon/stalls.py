"""Names a stage that makes no progress, and the process that holds it: event `stall`, ended by `stall.over`.

Progress is what the journal tells (`Stalls.hear` is one of its listeners) and what the gauges show that are read now
and then. A stage that has been silent for a while is named once; nothing is ended, for a long step on a large model
looks the same. With the event goes a report in the run folder: each process that may hold the stage, whether it
computes or waits, and the stacks of the likeliest one and of the brain.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from appliance import stacks
from appliance.daemon import processes
from appliance.daemon.processes import Finding, Holder
from appliance.errors import ApplianceError

PATIENCE_S = 35.0
TICK_S = 5.0
"""Patience, tick, measuring, a jailer that is asked in vain, and the dump together stay below 60 s."""
MOST_REPORTS = 20
"""In one run folder."""

SUSPECTS: Mapping[str, tuple[str, ...]] = {
    "sample": ("engine", "jailer", "brain"),
    "judge": ("jailer", "brain"),
    "learn": ("learner", "brain"),
    "publish": ("learner", "engine", "brain"),
    "evaluate": ("engine", "jailer", "brain"),
    "queue": ("brain",),
}
"""Stage to the processes that can hold it, by name, the likeliest first. `publish` is the hand-over of weights."""

_STAGE = "stage"
_LIVE_KEYS = ("stage", "step", "attempts_done", "queue")
"""Of the live row, what shows progress: the rest may change while nothing moves."""
_ENDS = ("run.finished", "run.stopped", "run.failed")
_OURS = ("stall", "stall.over")

Gauge = Callable[[], Hashable | None]
"""Something that changes as long as there is progress; None while there is nothing to do."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A stall that was told."""

    stage: str
    step: int | None
    moved: float


@dataclass(slots=True)
class _Watched:
    """One thing that must go on. Times in seconds of the clock."""

    name: str
    step: int | None = None
    mark: Hashable | None = None
    """What changes with progress; None: idle."""
    moved: float = 0.0
    """When it last changed."""
    named: _Named | None = None
    """The stall that was told and is not over."""

    def see(self, mark: Hashable | None, now: float) -> None:
        if mark != self.mark:
            self.mark, self.moved = mark, now


class Stalls:
    """Watches one run from its start to its end; a context manager.

    `tell(kind, data)` records an event, `holders` says which processes there are now beside this one, `folder` is the
    run's. `clock` counts seconds and never goes back. While `held` says that the run is meant to wait, nothing stalls.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str, dict[str, Any]], object],
        holders: Callable[[], Sequence[Holder]],
        gauges: Mapping[str, Gauge] | None = None,
        *,
        held: Callable[[], bool] = lambda: False,
        patience_s: float = PATIENCE_S,
        tick_s: float = TICK_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._tell, self._holders, self._gauges = folder, tell, holders, dict(gauges or {})
        self._held = held
        self._patience_s, self._tick_s, self._clock = patience_s, tick_s, clock
        self._lock = threading.Lock()
        self._evaluating = False
        self._events = 0
        self._live: Hashable = None
        self._stage = _Watched(_STAGE)
        self._watched = [self._stage, *(_Watched(name) for name in self._gauges)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stalls", daemon=True)

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(self._tick_s)

    def hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """A listener of the journal: every event is progress, a live row only when it differs from the last."""
        if kind in _OURS:
            return
        with self._lock:
            if kind == "live":
                self._live = tuple(data.get(key) for key in _LIVE_KEYS)
            else:
                self._events += 1
            self._follow(kind, data)
            running = self._stage.name != _STAGE
            self._stage.see((self._events, self._live) if running else None, self._clock())

    def _follow(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep track of the stage."""
        if kind in _ENDS:
            self._stage.name = _STAGE
        elif kind in ("evaluation.started", "evaluation.done"):
            self._evaluating = kind == "evaluation.started"
        if kind == "evaluation.done":
            self._stage.name = _STAGE
        elif kind in ("stage", "live") and data.get("stage"):
            self._stage.name = "evaluate" if self._evaluating else str(data["stage"])
            self._stage.step = data.get("step")

    def turn(self) -> None:
        """Look once: name what has stalled, and say what is over."""
        for item in self._watched:
            if item is not self._stage:
                item.see(self._gauges[item.name](), self._clock())
            self._look(item)

    def _look(self, item: _Watched) -> None:
        with self._lock:
            if self._held():
                item.moved = self._clock()
            now, idle, moved, stage, step = (
                self._clock(),
                item.mark is None,
                item.moved,
                item.name,
                item.step,
            )
        if item.named and (idle or moved != item.named.moved):
            told, item.named = item.named, None
            spent = (now if idle else moved) - told.moved
            self._say("stall.over", {"stage": told.stage, "step": told.step, "seconds": spent})
        elif not item.named and not idle and now - moved >= self._patience_s:
            item.named = _Named(stage, step, moved)
            self._name(item.named)

    def _run(self) -> None:
        while not self._stop.wait(self._tick_s):
            self.turn()

    def _name(self, stalled: _Named) -> None:
        names = SUSPECTS.get(stalled.stage, ("engine", "learner", "jailer", "brain"))
        holders = [*self._holders(), brain(self._folder)]
        present = sorted(
            (holder for holder in holders if holder.name in names),
            key=lambda holder: names.index(holder.name),
        )
        found = processes.examine(present, self._stop.wait)
        # `max` keeps the first of equals, which is the likeliest.
        worst = max(found, key=lambda finding: finding.suspicion)
        report = self._report(stalled.stage, found, worst)
        what = {"doing": worst.doing, "cpu": worst.cpu, "report": report}
        held = {"process": worst.holder.name, "pid": worst.holder.pid, **what}
        silent = self._clock() - stalled.moved
        self._say("stall", {"stage": stalled.stage, "step": stalled.step, "seconds": silent, **held})

    def _report(self, stage: str, found: Sequence[Finding], worst: Finding) -> str:
        """Write the report; return its name in the run folder, or nothing when it cannot be written."""
        if len(list(self._folder.glob("stall-*.txt"))) >= MOST_REPORTS:
            return ""
        parts = [f"stage {stage}"]
        for finding in sorted(found, key=lambda finding: finding is not worst):
            holder = finding.holder
            owes = "asked" if finding.owes else "not asked for anything"
            parts.append(f"{holder.name} pid {holder.pid} {finding.doing} cpu {finding.cpu:.2f} {owes}")
            if finding is worst or holder.pid == os.getpid():
                parts += [*processes.threads(holder.pid), self._stacks(holder)]
        path = self._folder / f"stall-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{stage}.txt"
        try:
            path.write_text("\n".join(parts) + "\n", encoding="utf-8")
        except OSError:
            return ""
        return path.name

    def _stacks(self, holder: Holder) -> str:
        if holder.pid == os.getpid():
            return stacks.own(self._folder / f"{holder.name}{stacks.SUFFIX}") or "no stacks: not writable"
        text = stacks.ask(holder.pid, holder.stacks, self._stop.wait) if holder.stacks else ""
        return text or "no stacks: it did not answer (stopped, starting, or not ours to ask)"

    def _say(self, kind: str, data: dict[str, Any]) -> None:
        """Tell an event. A store that cannot be written is what may have stalled: say it to the log then."""
        data["seconds"] = round(data["seconds"], 1)
        try:
            self._tell(kind, data)
        except ApplianceError as error:
            with suppress(OSError):
                print(f"{kind}: {data} (not recorded: {error.message})", file=sys.stderr)


def brain(folder: Path) -> Holder:
    """This process as a holder. It owes the next move whenever no other process does, and comes last among equals."""
    return Holder("brain", os.getpid(), folder / f"brain{stacks.SUFFIX}")
