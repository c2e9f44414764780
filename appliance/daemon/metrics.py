"""Keeps a file with the queue's figures, for a node exporter's textfile reader, while the daemon runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from appliance.errors import StoreError
from appliance.queue import figures
from appliance.queue.client import Queue

NAME = "appliance.prom"
EVERY_S = 15.0


class MetricsFile:
    """Context manager: writes `path` at once, and again every `every_s` seconds until it ends."""

    def __init__(self, queue: Queue, path: Path, every_s: float = EVERY_S) -> None:
        self._queue, self._path, self._every_s = queue, path, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def __enter__(self) -> MetricsFile:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            # A disk that is full or gone is told of by what needs it; old figures show their age by the file's.
            with suppress(StoreError):
                figures.write(self._path, figures.exposition(self._queue.figures()))
            if self._stop.wait(self._every_s):
                return
