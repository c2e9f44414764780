"""The progress of a run while a command waits for it: a live view on a terminal, plain lines otherwise.

It is fed by the run's events, draws on stderr only, and clears its live view when it ends, so that stdout holds
nothing but the result. It reads no store.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

from appliance.clean import clean_line
from appliance.narrate import fixed, narrate, percent
from appliance.reads import number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from appliance.tui.widgets.glyphs import Glyphs

Data = Mapping[str, Any]
Listener = Callable[[str, Data], None]
STAGES = ("sample", "judge", "learn", "publish")
NOT_TOLD = frozenset({"live", "update.started", "checkpoint.saved", "daemon.idle", "tasks.drawn"})
"""Kinds without a line of their own: others tell the same."""
LIVE_ONLY = NOT_TOLD | {"stage", "base.preparing"}
"""On a terminal the live view shows these."""
REFRESH_PER_S = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of the run so far."""

    phase: str = "starting"
    stage: str = ""
    done: float = 0.0
    total: float = 0.0
    rewards: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()


def fold(known: Progress, kind: str, data: Data) -> Progress:
    """Return what is known after one more event."""
    if kind in ("base.preparing", "run.started", "run.resumed", "evaluation.started", "update.started"):
        phase = narrate(kind, data).removesuffix(" started")
        return replace(known, phase=phase, stage="", done=0.0, total=0.0)
    if kind in ("stage", "live"):
        done, total = number(data.get("attempts_done")), number(data.get("attempts_total"))
        stage = str(data.get("stage", known.stage))
        return replace(known, stage=stage, done=done or 0.0, total=total or 0.0)
    if kind == "update.done":
        reward = number(data.get("reward_mean"))
        return known if reward is None else replace(known, rewards=(*known.rewards, reward))
    if kind == "evaluation.done" and (rate := number(data.get("pass_rate"))) is not None:
        return replace(known, rates=(*known.rates, rate))
    return known


@contextmanager
def progress(stream: TextIO | None = None, clock: Callable[[], float] = time.time) -> Iterator[Listener]:
    """Yield the listener of a run's events; `stream` None is stderr."""
    from rich.console import Console

    console = Console(file=stream, stderr=stream is None, markup=False, highlight=False, soft_wrap=True)
    if console.is_terminal and not console.is_dumb_terminal:
        with _live(console, clock) as listen:
            yield listen
    else:
        yield plain(stream or sys.stderr, clock)


def plain(stream: TextIO, clock: Callable[[], float]) -> Listener:
    """A listener that writes a line per event."""
    lock = threading.Lock()

    def listen(kind: str, data: Data) -> None:
        if kind not in NOT_TOLD:
            line = f"{_time(clock())} {narrate(kind, data)}"
            encoding = stream.encoding or "utf-8"
            with lock:
                print(line.encode(encoding, "replace").decode(encoding), file=stream, flush=True)

    return listen


@contextmanager
def _live(console: Console, clock: Callable[[], float]) -> Iterator[Listener]:
    from rich.live import Live
    from rich.text import Text

    from appliance.tui.widgets.glyphs import glyphs_for

    glyphs, lock, started = glyphs_for(console.encoding, os.environ), threading.Lock(), clock()
    known = Progress()

    def draw() -> Text:
        return render(known, clock() - started, console.width, glyphs)

    def listen(kind: str, data: Data) -> None:
        nonlocal known
        with lock:
            known = fold(known, kind, data)
        if kind not in LIVE_ONLY:
            line = glyphs.fold(f"{_time(clock())} {narrate(kind, data)}")
            console.print(Text(line, no_wrap=True, overflow="ellipsis"))

    with Live(get_renderable=draw, console=console, refresh_per_second=REFRESH_PER_S, transient=True):
        yield listen


def render(known: Progress, elapsed: float, width: int, glyphs: Glyphs) -> Text:
    """The live view: at most three lines of at most `width` cells."""
    from rich.text import Text

    from appliance.tui.health import duration

    head = Text.assemble((clean_line(known.phase), "bold"), "  ")
    for name in STAGES if known.stage else ():
        head.append(
            f"[{name}]" if name == known.stage else f" {name} ",
            "bold reverse" if name == known.stage else "dim",
        )
    head.append(f"  {duration(elapsed)}", "dim")
    told = (_attempts(known, width, glyphs), _curves(known, glyphs))
    lines = [head, *(Text(line) for line in told if line)]
    for line in lines:
        line.plain = glyphs.fold(line.plain)
        line.truncate(max(1, width - 1), overflow="crop")
    return Text("\n").join(lines)


def _attempts(known: Progress, width: int, glyphs: Glyphs) -> str:
    from appliance.tui.widgets.meter import meter

    if not known.total:
        return ""
    bar = meter(known.done, known.total, min(40, width - 32), glyphs)
    return f"attempts  {bar} {known.done:.0f} of {known.total:.0f}"


def _curves(known: Progress, glyphs: Glyphs) -> str:
    from appliance.tui.widgets.sparkline import span, sparkline

    parts = []
    if known.rewards:
        low, high = span(known.rewards)
        drawn = sparkline(known.rewards, 24, 1, glyphs, low=low, high=high)[0]
        parts.append(f"reward    {drawn} {_span(*(fixed(known.rewards[place]) for place in (0, -1)))}")
    if known.rates:
        parts.append(f"held out  {_span(*(percent(known.rates[place]) for place in (0, -1)))}")
    return "   ".join(parts)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} → {last}"


def _time(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))
