"""The lock that the one run of a data folder holds, and what it says about runs recorded as running.

The kernel gives the lock back when its holder dies, however it dies; the store cannot know that.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from appliance.errors import StoreError
from appliance.paths import Paths


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
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"another run is going in {paths.data}", remedy="wait for it, stop it, or set APPLIANCE_HOME"
            ) from None
        yield


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
