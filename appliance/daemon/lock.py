"""The lock that the one run of a data folder holds, and what it says about runs recorded as running.

The kernel gives the lock back when its holder dies, however it dies; the store cannot know that.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from appliance.errors import StoreError
from appliance.paths import Paths

TRIES, PAUSE_S = 10, 0.05


@contextmanager
def single_run(paths: Paths) -> Iterator[None]:
    """One run at a time owns the data folder: the queue and the store have one writer."""
    try:
        paths.data.mkdir(parents=True, exist_ok=True)
        stream = (paths.data / "run.lock").open("w")
    except OSError as error:
        raise StoreError(
            f"{paths.data}: {error.strerror}", remedy="check the folder or set APPLIANCE_HOME"
        ) from error
    with stream:
        if not _taken(stream):
            raise StoreError(
                f"another run is going in {paths.data}", remedy="wait for it, stop it, or set APPLIANCE_HOME"
            )
        yield


def _taken(stream: IO[str]) -> bool:
    """Take the lock; who only asks `is_held` has it for a moment and must not look like a run."""
    for _ in range(TRIES):
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False


def is_held(paths: Paths) -> bool:
    """Whether a run is going in this data folder now."""
    try:
        with (paths.data / "run.lock").open() as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
