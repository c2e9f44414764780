"""The daemon's own account of itself, for `appliance status`."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.daemon.book import Book
from appliance.daemon.service import GOING, Service
from appliance.narrate import narrate
from appliance.queue.client import Queue
from appliance.reads import Reads

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Condition:
    """Reads the condition of one daemon. `socket` is where it listens."""

    book: Book
    queue: Queue
    service: Service
    socket: str
    monotonic: Callable[[], float] = time.monotonic
    _since: float = field(default_factory=time.monotonic)

    def read(self) -> dict[str, Any]:
        """Everything that `status` tells, as JSON; sizes in bytes, times in seconds."""
        reads = Reads(self.book.paths.store)
        try:
            with reads.consistent():
                run, event = self._run(reads), _event(reads)
        finally:
            reads.close()
        disk = shutil.disk_usage(self.book.paths.data)
        return {
            "daemon": {
                "pid": os.getpid(),
                "uptime_s": round(self.monotonic() - self._since, 1),
                "socket": self.socket,
                "data": str(self.book.paths.data),
                "draining": self.service.draining,
                "trouble": self.service.trouble,
            },
            "run": run,
            "waiting": self.book.waiting(),
            "queue": self.queue.depth(),
            "last_event": event,
            "disk": {"free": disk.free, "total": disk.total},
            "memory": {"daemon": _resident(), "available": _available()},
        }

    def _run(self, reads: Reads) -> dict[str, Any] | None:
        """The run that is going, with its live row as far as it is known."""
        hold = self.service.hold
        if hold is None:
            return None
        row, live = reads.run(hold.run_id), reads.live(hold.run_id)
        if row["state"] not in GOING:
            return None
        data = live["data"] if live else {}
        known = {key: data.get(key) for key in ("stage", "step", "updates", "jails")}
        state = "pausing" if hold.paused and not hold.held else row["state"]
        return {"id": hold.run_id, "state": "stopping" if hold.stopping else state, **known}


def _event(reads: Reads) -> dict[str, Any] | None:
    found = reads.newest_events(1)
    if not found:
        return None
    event = found[0]
    text = narrate(event["kind"], event["data"])
    return {"seq": event["seq"], "time": event["time"], "run": event["run_id"], "text": text}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES


def _available() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
