"""The Huey side: one Huey queue per pool of threads, on the connection of the queue file.

A Huey message is a ring: "one more job of this pool can start". Which job that is gets decided at the claim,
from the jobs table. So a message that is lost, doubled or not ours costs nothing but a moment: the sweep rings
again for jobs that wait. Messages are JSON; a message that is not is dropped, never evaluated.

A thread that waits for a ring sleeps on a condition and costs nothing; Huey's own polling, schedule, results,
retries and revocations are not used.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from huey import Huey
from huey.consumer import Consumer
from huey.exceptions import HueyException
from huey.registry import Message, Registry
from huey.serializer import Serializer
from huey.storage import SqliteStorage

from appliance.errors import StoreError
from appliance.queue.file import QueueFile

TASK_NAME = "appliance.ring"
_log = logging.getLogger("appliance.queue")


class Bell:
    """Counts the rings that no thread has answered yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._unanswered = 0
        self._silent = False

    def ring(self, count: int = 1) -> None:
        with self._changed:
            self._unanswered += count
            self._changed.notify(count)

    def expect(self, messages: int) -> None:
        """Ring until there is a ring for each of `messages`: some may have come from another process."""
        with self._changed:
            if (missing := messages - self._unanswered) > 0:
                self.ring(missing)

    def answer(self) -> bool:
        """Wait for a ring and take it; False once the bell is silenced."""
        with self._changed:
            self._changed.wait_for(lambda: self._unanswered or self._silent)
            if self._silent:
                return False
            self._unanswered -= 1
            return True

    def silence(self, silent: bool) -> None:
        """Send everybody who waits away, and whoever comes, until it is turned back."""
        with self._changed:
            self._silent = silent
            self._changed.notify_all()


class JsonSerializer(Serializer):  # type: ignore[misc]
    """Huey's messages as JSON objects; the inherited serializer would use pickle."""

    def _serialize(self, data: Message) -> bytes:
        fields = {name: value for name, value in data._asdict().items() if value is not None}
        return json.dumps(fields, allow_nan=False).encode()

    def _deserialize(self, data: bytes) -> Message:
        """Raises ValueError or TypeError for anything else."""
        return Message(**json.loads(data))


class NameRegistry(Registry):  # type: ignore[misc]
    """Names a task by its name alone, so that moving its function does not orphan queued messages."""

    def task_to_string(self, task_class: type) -> str:
        return task_class.__name__


class SharedStorage(SqliteStorage):  # type: ignore[misc]
    """Huey's tables through our connection, so that a message joins the transaction of its job."""

    blocking = True

    def __init__(self, name: str, file: QueueFile, bell: Bell) -> None:
        self._file, self._bell = file, bell
        super().__init__(name, filename=str(file.path), strict_fifo=True)

    @contextmanager
    def db(self, commit: bool = False, close: bool = False) -> Iterator[sqlite3.Cursor]:
        with self._file.write() if commit else self._file.read() as connection:
            yield connection.cursor()

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        with self._file.write() as connection:
            connection.execute(
                "INSERT INTO task (queue, data, priority) VALUES (?, ?, ?)", (self.name, data, priority or 0)
            )

    def dequeue(self) -> bytes | None:
        """Sleep until there is a ring, then take its message; the next sweep repeats a ring that fails here."""
        return super().dequeue() if self._bell.answer() else None


class Doorbell(Huey):  # type: ignore[misc]
    """The Huey queue of one pool. `on_trouble` hears of a queue file that cannot be read or written."""

    def __init__(self, pool: str, file: QueueFile, on_trouble: Callable[[StoreError], None]) -> None:
        self.bell = Bell()
        self._on_trouble = on_trouble
        storage = {"storage_class": SharedStorage, "file": file, "bell": self.bell}
        super().__init__(pool, results=False, serializer=JsonSerializer(), **storage)
        self._registry = NameRegistry()
        self._answer: Callable[[], None] | None = None
        # One ring is like another, so they may share an id: nothing asks for one by it.
        self._ring: bytes = self.serialize_task(self.task(name=TASK_NAME)(self._on_ring).s())

    def post(self) -> None:
        """Write one message; who calls rings the bell once that is committed."""
        self.storage.enqueue(self._ring)

    def waiting(self) -> int:
        return int(self.storage.queue_size())

    def dequeue(self) -> Any:
        try:
            data = self.storage.dequeue()
            return None if data is None else self.deserialize_task(data)
        except StoreError as error:
            self._on_trouble(error)
        except (ValueError, TypeError, KeyError, RecursionError, HueyException) as error:
            _log.warning(
                "dropped a message of queue %s that is not ours: %s", self.name, type(error).__name__
            )
        return None

    def consumer(self, threads: int, answer: Callable[[], None]) -> EmbeddedConsumer:
        """A consumer, not yet started, whose threads call `answer` once per ring."""
        self._answer = answer
        self.bell.silence(False)
        return EmbeddedConsumer(self, workers=threads, periodic=False, scheduler_interval=60)

    def _on_ring(self) -> None:
        if self._answer:
            self._answer()

    # Huey asks these around every task; our own tables hold what they would answer.

    def is_revoked(self, task: Any, timestamp: datetime | None = None, peek: bool = True) -> bool:
        return False

    def delete(self, key: str) -> bool:
        return False

    def read_schedule(self, timestamp: datetime | None = None) -> list[Any]:
        return []


class EmbeddedConsumer(Consumer):  # type: ignore[misc]
    """A Huey consumer that lives inside another program, which owns the signals."""

    def _set_signal_handlers(self) -> None:
        pass

    def _create_process(self, process: Any, name: str) -> Any:
        return super()._create_process(process, f"{self.huey.name}-{name}")

    @property
    def threads(self) -> list[threading.Thread]:
        return [thread for _, thread in self.worker_threads]
