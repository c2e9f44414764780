"""The engine process: opens one model, then answers frames on its pipe until the pipe closes.

One thread reads frames and answers what needs only the vocabulary; the main thread owns the context. A request
that breaks the protocol ends the process: the client and this file ship together, so that is a bug.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from appliance import frames
from appliance.engine.cores import physical_cores
from appliance.engine.llama import MAX_SEQUENCES, Backend, Context, Model
from appliance.engine.policy import Policy
from appliance.engine.records import (
    MAX_SLOTS,
    BatchPlace,
    Completion,
    EngineInfo,
    EngineSettings,
    completion_to_json,
    error_to_json,
    sampling_from_json,
)
from appliance.engine.requests import Outcome, Request, ScoreRequest
from appliance.engine.sampler import Sampler
from appliance.engine.scheduler import Scheduler
from appliance.errors import ApplianceError, EngineError

_CELLS_PER_SLOT = 512
_CELLS_FOR_PROMPTS = 4096
_IDLE_CHECK_S = 1.0

Message = dict[str, Any]


class Replies:
    """The way back to the client; whole frames from two threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def result(self, number: int, value: Any) -> None:
        self._write({"id": number, "result": value})

    def error(self, number: int, error: ApplianceError) -> None:
        self._write({"id": number, "error": error_to_json(error)})

    def outcome(self, outcome: Outcome) -> None:
        number, value = outcome
        if isinstance(value, EngineError):
            self.error(number, value)
        else:
            self.result(number, completion_to_json(value) if isinstance(value, Completion) else value)

    def _write(self, message: Message) -> None:
        with self._lock:
            frames.write(self._stream, message)


class Server:
    """One open model with its context, policy and scheduler."""

    def __init__(self, settings: EngineSettings, clock: Callable[[], float] = time.monotonic) -> None:
        _check_slots(settings.slots)
        self._clock = clock
        self._threads = settings.threads or physical_cores()
        backend = Backend()
        self._model = Model(
            backend,
            Path(settings.model),
            gpu_layers=settings.gpu_layers,
            extra_buffers=settings.extra_buffers,
        )
        cells = settings.context or settings.slots * _CELLS_PER_SLOT + _CELLS_FOR_PROMPTS
        # As many cached prompts as slots, so that every slot can have its own, and one sequence for scoring.
        sequences = min(MAX_SEQUENCES, 2 * settings.slots + 1)
        self._context = Context(
            self._model, cells=cells, sequences=sequences, threads=self._threads, exact=settings.exact
        )
        self._policy = Policy(self._model, self._context, settings.base_version)
        self._scheduler = Scheduler(
            self._model,
            self._context,
            Sampler(self._model.n_vocab, self._threads),
            slots=settings.slots,
            hold_s=settings.hold_s,
            version=lambda: self._policy.version,
            clock=clock,
        )
        self.info = EngineInfo(
            build=backend.build(),
            architecture=self._model.architecture,
            n_vocab=self._model.n_vocab,
            n_ctx=self._context.n_ctx,
            slots=settings.slots,
            bos=self._model.bos,
            end_ids=self._model.end_ids,
            add_bos=self._model.add_bos,
            threads=self._threads,
            n_ctx_train=self._model.n_ctx_train,
            file_type=self._model.file_type,
        )

    def vocabulary(self, message: Message) -> Any:
        """Answer what needs no context: safe from any thread, at any time."""
        if message["op"] == "tokenize":
            return self._model.tokenize(
                message["text"], add_bos=message["add_bos"], special=message["special"]
            )
        return b"".join(self._model.piece(token) for token in message["ids"]).decode("latin-1")

    def run(self, inbox: queue.SimpleQueue[Message], replies: Replies) -> None:
        """Serve until the parent is gone. Usually `_read` sees that first, by the end of the pipe."""
        parent = os.getppid()
        while os.getppid() == parent:
            for message in self._receive(inbox):
                self._handle(message, replies)
            for outcome in self._scheduler.step():
                replies.outcome(outcome)

    def _receive(self, inbox: queue.SimpleQueue[Message]) -> list[Message]:
        """Everything that has arrived; waits for something only while there is nothing else to do."""
        messages = []
        try:
            if self._scheduler.idle:
                hold = self._scheduler.wait_s()
                messages.append(
                    inbox.get(timeout=_IDLE_CHECK_S if hold is None else min(hold, _IDLE_CHECK_S))
                )
            while True:
                messages.append(inbox.get_nowait())
        except queue.Empty:
            return messages

    def _handle(self, message: Message, replies: Replies) -> None:
        try:
            if message["op"] == "generate":
                self._scheduler.submit(self._request(message))
            elif message["op"] == "score":
                self._scheduler.submit(_score_request(message))
            else:
                replies.result(message["id"], self._command(message))
        except ApplianceError as error:
            replies.error(message["id"], error)

    def _command(self, message: Message) -> Any:
        match message["op"]:
            case "set_adapter":
                self._scheduler.refuse_if_busy()
                self._policy.set(Path(message["path"]) if message["path"] else None, message["version"])
                self._scheduler.forget()
                return None
            case "cancel":
                return self._scheduler.cancel(message["batch"])
            case "stats":
                return self._scheduler.load()
            case unknown:
                raise EngineError(f"the engine knows no request {unknown!r}")

    def _request(self, message: Message) -> Request:
        timeout_s = message["timeout_s"]
        return Request(
            number=message["id"],
            prompt=tuple(message["prompt"]),
            sampling=sampling_from_json(message["sampling"]),
            seed=message["seed"],
            place=BatchPlace(**message["batch"]) if message["batch"] else None,
            deadline=None if timeout_s is None else self._clock() + timeout_s,
        )


@contextmanager
def ending_the_process() -> Iterator[None]:
    """Whatever ends the thread inside ends the process, at once: neither thread is of use without the other, and
    the interpreter cannot shut down while one of them waits for the pipe."""
    code = 1
    try:
        yield
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Run the process: the first frame holds the settings, the first reply what was opened."""
    replies = Replies(sink)
    first = frames.read(source)
    if first is None:
        return
    try:
        server = Server(EngineSettings(**first["settings"]))
    except ApplianceError as error:
        replies.error(first["id"], error)
        return
    replies.result(first["id"], asdict(server.info))
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(source, inbox, server, replies), daemon=True).start()
    server.run(inbox, replies)


def _read(source: BinaryIO, inbox: queue.SimpleQueue[Message], server: Server, replies: Replies) -> None:
    """Pass frames on until the pipe closes; then nobody wants what is still running."""
    with ending_the_process():
        while (message := frames.read(source)) is not None:
            if message["op"] in ("tokenize", "detokenize"):
                _answer(message, server, replies)
            else:
                inbox.put(message)


def _answer(message: Message, server: Server, replies: Replies) -> None:
    try:
        replies.result(message["id"], server.vocabulary(message))
    except ApplianceError as error:
        replies.error(message["id"], error)


def _score_request(message: Mapping[str, Any]) -> ScoreRequest:
    return ScoreRequest(
        number=message["id"],
        prompt=tuple(message["prompt"]),
        completion=tuple(message["completion"]),
        temperature=message["temperature"],
    )


def _check_slots(slots: int) -> None:
    if not 1 <= slots <= MAX_SLOTS:
        raise EngineError(f"{slots} slots are out of range", remedy=f"use 1 to {MAX_SLOTS}")
