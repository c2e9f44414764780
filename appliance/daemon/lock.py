"""The lock that the one run or daemon of a data folder holds, and what it says about runs recorded as running.

The kernel gives the lock back when its holder dies, however it dies; the store cannot know that. The file says
who holds it, for messages and to find the daemon's socket; without the lock what it says is about the past.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import IO, Literal

from appliance.errors import StoreError
from appliance.paths import Paths

TRIES, PAUSE_S = 10, 0.05
LONGEST_NOTE = 4096

Kind = Literal["train", "daemon", ""]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock: a `train` or a `daemon`, or nobody knows who (empty). `socket`: the daemon's."""

    kind: Kind = ""
    pid: int = 0
    socket: str = ""


@contextmanager
def single_run(paths: Paths, kind: Kind = "train", socket: str = "") -> Iterator[None]:
    """One run or daemon at a time owns the data folder: the queue and the store have one writer."""
    try:
        paths.data.mkdir(parents=True, exist_ok=True)
        stream = (paths.data / "run.lock").open("a+")
    except OSError as error:
        raise StoreError(
            f"{paths.data}: {error.strerror}", remedy="check the folder or set APPLIANCE_HOME"
        ) from error
    with stream:
        if not _taken(stream):
            raise _refused(paths, holder(paths) or Holder(), kind)
        _note(stream, Holder(kind, os.getpid(), socket))
        yield


def _taken(stream: IO[str]) -> bool:
    """Take the lock; who only asks `holder` has it for a moment and must not look like a run."""
    for _ in range(TRIES):
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False


def _note(stream: IO[str], who: Holder) -> None:
    """Say who we are. A full disk may refuse it: the lock holds all the same."""
    with suppress(OSError):
        stream.truncate(0)
        stream.write(json.dumps(asdict(who)))
        stream.flush()


def _refused(paths: Paths, who: Holder, kind: Kind) -> StoreError:
    if who.kind == "daemon" and kind == "daemon":
        return StoreError(
            f"a daemon (pid {who.pid}) already serves {paths.data}",
            remedy=f"use it (appliance status), end it (kill {who.pid}), or set APPLIANCE_HOME",
        )
    if who.kind == "daemon":
        return StoreError(
            f"a daemon (pid {who.pid}) serves {paths.data}",
            remedy="appliance run start RECIPE gives it a new run, appliance run resume RUN an earlier one",
        )
    pid = f" (pid {who.pid})" if who.pid else ""
    return StoreError(
        f"another run{pid} is going in {paths.data}", remedy="wait for it, stop it, or set APPLIANCE_HOME"
    )


def is_held(paths: Paths) -> bool:
    """Whether a run is going, or a daemon, in this data folder now."""
    return holder(paths) is not None


def holder(paths: Paths) -> Holder | None:
    """Who holds the folder now; None when nobody does."""
    try:
        with (paths.data / "run.lock").open() as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read_note(stream.read(LONGEST_NOTE))
    except OSError:
        return None
    return None


def _read_note(text: str) -> Holder:
    """Who the holder says it is; an older one says nothing."""
    try:
        found = json.loads(text)
        if found["kind"] in ("train", "daemon"):
            return Holder(found["kind"], int(found["pid"]), str(found["socket"]))
    except (ValueError, TypeError, KeyError):
        pass
    return Holder()
