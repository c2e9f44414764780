"""What the service manager is told of the daemon: ready, a line on what is going on, the end; and its watchdog."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.control import ask
from appliance.daemon.notify import Notifier, watchdog_seconds
from appliance.daemon.watchdog import Vitals, Watchdog
from appliance.errors import ApplianceError
from appliance.store import Store

ROW = "daemon"
"""Of the live table: what the watchdog writes."""


class Manager:
    """A listener of runs and of the daemon; a line is sent when it differs from the last."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier, self._last = notifier, ""

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "daemon.ready":
            self._notifier.ready()
        elif kind == "daemon.draining":
            self._notifier.stopping("ending")
        elif (text := _line(kind, data)) and text != self._last:
            self._last = text
            self._notifier.status(text)


def _line(kind: str, data: Mapping[str, Any]) -> str:
    """The status line that an event makes, or nothing."""
    match kind:
        case "daemon.idle":
            return f"{data['paused']} is paused" if data.get("paused") else "idle"
        case "daemon.trouble":
            return "" if data.get("why") == "over" else f"starts nothing: {data.get('why')}"
        case "stall":
            return f"{data['stage']} stalls: {data['process']} (pid {data['pid']}) {data['doing']}"
        case "stage" | "live" if data.get("stage"):
            parts = [f"update {data.get('step')}", str(data["stage"])]
            if data.get("attempts_total"):
                parts.append(f"{data.get('attempts_done')} of {data['attempts_total']} attempts")
            if data.get("jails") is not None:
                parts.append(f"{data['jails']} jails")
            return ", ".join(parts)
    return ""


@dataclass
class Beats:
    """Whether the keeper of the queue beats: `beaten` is when it last did, None while no run has workers."""

    beaten: Callable[[], float] | None = None

    def age(self) -> float:
        beaten = self.beaten
        return time.monotonic() - beaten() if beaten else 0.0


def watch(stack: ExitStack, notifier: Notifier, store: Store, beats: Beats, path: Path) -> None:
    """Have the daemon that answers at `path` watched, when the manager wants it."""
    limit_s = watchdog_seconds(os.environ, os.getpid())
    if limit_s is None:
        return
    vitals = Vitals(
        lambda: store.set_live(ROW, time.time(), {}), beats.age, lambda seconds: _answers(path, seconds)
    )
    stack.enter_context(Watchdog(notifier, limit_s, vitals, lambda text: print(text, flush=True)))


def _answers(path: Path, seconds: float) -> bool:
    try:
        ask(path, "ping", wait_s=seconds)
    except (ApplianceError, OSError):
        return False
    return True
