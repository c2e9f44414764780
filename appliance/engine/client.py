"""The engine as the rest of the appliance sees it: a child process, many threads blocking in `generate` at once.

The client holds no state of the model. When the child dies every pending call raises `EngineError`, and so does
every later one until `restart()`, which opens the same model and sets the last adapter again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from appliance import frames, stacks
from appliance.engine.records import (
    BatchPlace,
    Completion,
    EngineInfo,
    EngineSettings,
    completion_from_json,
    error_from_json,
    info_from_json,
)
from appliance.errors import EngineError, ModelError
from appliance.nouns import Sampling

__all__ = ["BatchPlace", "Completion", "Engine", "EngineInfo", "EngineSettings"]

_GRACE_S = 60.0
"""How much longer than its own limit a call waits for the engine to say so."""
_CLOSE_S = 10.0
_GGUF_MAGIC = b"GGUF"
_GGUF_VERSIONS = (2, 3)


class Engine:
    """One engine process. Thread-safe; a context manager."""

    def __init__(self, settings: EngineSettings, log: Path) -> None:
        check_model_file(Path(settings.model))
        self.settings = settings
        self._log = log
        self._adapter: tuple[Path, str] | None = None
        self._child, self.info = self._open()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._child.process.pid

    @property
    def owes(self) -> bool:
        """Whether a call waits for the process."""
        return self._child.owes

    @property
    def stacks(self) -> Path:
        """Where the process writes its stacks when it is asked for them."""
        return self._log.with_suffix(stacks.SUFFIX)

    @property
    def alive(self) -> bool:
        """Whether the process answers; after a death `restart()` brings it back."""
        return self._child.alive

    def tokenize(self, text: str, *, add_bos: bool, special: bool = False) -> tuple[int, ...]:
        """Ids of `text`. Control tokens written out in it count as such only with `special`: never for text
        that anybody else wrote."""
        return tuple(self._child.call("tokenize", text=text, add_bos=add_bos, special=special))

    def detokenize(self, ids: Sequence[int]) -> bytes:
        """The bytes the ids add to a text; control tokens add none."""
        found: str = self._child.call("detokenize", ids=list(ids))
        return found.encode("latin-1")

    def generate(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        *,
        seed: int,
        batch: BatchPlace | None = None,
        timeout_s: float | None = None,
    ) -> Completion:
        """Sample a continuation. After `timeout_s` it returns with what it has, stop reason `cancelled`."""
        fields = self._child.call(
            "generate",
            wait_s=None if timeout_s is None else timeout_s + _GRACE_S,
            prompt=list(prompt),
            sampling=asdict(sampling),
            seed=seed,
            batch=asdict(batch) if batch else None,
            timeout_s=timeout_s,
        )
        return completion_from_json(fields)

    def score(
        self, prompt: Sequence[int], completion: Sequence[int], temperature: float = 1.0
    ) -> tuple[float, ...]:
        """Log-probability of every completion id under the present weights, in a sequence of its own."""
        return tuple(
            self._child.call(
                "score", prompt=list(prompt), completion=list(completion), temperature=temperature
            )
        )

    def set_adapter(self, path: Path | None, version: str) -> None:
        """Decode with the adapter in `path` (None: the bare base) as policy `version` from now on.

        Refused while any request is live or waiting, and when the file was not written for `version`; what was
        set before then stays set.
        """
        self._child.call("set_adapter", path=None if path is None else str(path.absolute()), version=version)
        self._adapter = None if path is None else (path, version)

    def cancel(self, batch: str | None = None) -> int:
        """End the requests of `batch` (None: all) with what they have; returns how many."""
        return int(self._child.call("cancel", batch=batch))

    def stats(self) -> dict[str, float]:
        """Counters since the process was opened, and the present load."""
        return dict(self._child.call("stats"))

    def restart(self) -> None:
        """Open the model again in a new process, with the last adapter."""
        self._child.kill()
        self._child, self.info = self._open()
        if self._adapter:
            self.set_adapter(*self._adapter)

    def close(self) -> None:
        """End the process; calls still pending raise `EngineError`."""
        self._child.close()

    def _open(self) -> tuple[_Child, EngineInfo]:
        child = _Child(self._log)
        try:
            fields = child.call(
                "open", settings={**asdict(self.settings), "model": _absolute(self.settings.model)}
            )
        except EngineError as error:
            child.kill()
            if child.process.returncode is not None and child.process.returncode < 0 and not child.answered:
                raise ModelError(
                    f"{self.settings.model}: llama.cpp crashed while opening this file: {error.message}",
                    remedy="run `appliance doctor`, and check that the file is complete and supported",
                ) from None
            raise
        except BaseException:
            child.kill()
            raise
        return child, info_from_json(fields)


class _Child:
    """The process, the thread that reads its answers and the calls that wait for them."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._numbers = itertools.count()
        self._pending: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._dead: str | None = None
        self.answered = False
        self.process = _spawn(log)
        assert self.process.stdin and self.process.stdout
        self._stdin: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self._stdout: BinaryIO = self.process.stdout  # type: ignore[assignment]
        self._reader = threading.Thread(target=self._read, name="engine answers", daemon=True)
        self._reader.start()

    def call(self, op: str, *, wait_s: float | None = None, **fields: Any) -> Any:
        """Send one request and wait for its answer."""
        future: Future[Any] = Future()
        with self._lock:
            if self._dead is not None:
                raise self._death()
            number = next(self._numbers)
            frame = _encode({"id": number, "op": op, **fields})
            self._pending[number] = future
            # The reader notices a death too, and says more about it.
            with contextlib.suppress(BrokenPipeError):
                self._stdin.write(frame)
                self._stdin.flush()
        try:
            return future.result(wait_s)
        except TimeoutError:
            raise EngineError(
                f"the engine did not answer {op!r} in {wait_s:.0f} s",
                remedy=f"see {self._log}; restart the engine",
            ) from None

    @property
    def alive(self) -> bool:
        return self._dead is None

    @property
    def owes(self) -> bool:
        return bool(self._pending)

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self._reader.join()

    def close(self) -> None:
        """Ask it to end, then insist."""
        if self._dead is None:
            with self._lock:
                _close_quietly(self._stdin)
            try:
                self.process.wait(_CLOSE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reader.join()

    def _read(self) -> None:
        try:
            while (message := frames.read(self._stdout)) is not None:
                self._resolve(message)
            cause = ""
        except frames.FrameError as error:
            self.process.kill()
            cause = f" after a broken frame ({error})"
        self._bury(f"{_how_it_ended(self.process.wait())}{cause}")

    def _resolve(self, message: Mapping[str, Any]) -> None:
        self.answered = True
        with self._lock:
            future = self._pending.pop(message["id"])
        if "error" in message:
            future.set_exception(error_from_json(message["error"]))
        else:
            future.set_result(message["result"])

    def _bury(self, cause: str) -> None:
        with self._lock:
            self._dead = cause
            pending, self._pending = self._pending, {}
            _close_quietly(self._stdin)
        self._stdout.close()
        for future in pending.values():
            future.set_exception(self._death())

    def _death(self) -> EngineError:
        return EngineError(
            f"the engine process {self._dead}", remedy=f"see {self._log}; `restart()` opens the model again"
        )


def check_model_file(path: Path) -> None:
    """Refuse early what cannot be a GGUF; llama.cpp does the thorough check when it opens the file."""
    try:
        with path.open("rb") as stream:
            head = stream.read(8)
    except FileNotFoundError:
        raise ModelError(
            f"{path}: there is no such model file", remedy="check the path of the model"
        ) from None
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read: {error.strerror}", remedy="check the path and its mode"
        ) from None
    if head[:4] != _GGUF_MAGIC:
        raise ModelError(f"{path}: not a GGUF file", remedy="use a model in GGUF form")
    if int.from_bytes(head[4:8], "little") not in _GGUF_VERSIONS:
        raise ModelError(
            f"{path}: GGUF version {int.from_bytes(head[4:8], 'little')} is not supported",
            remedy="convert the model with a current llama.cpp (GGUF version 3)",
        )


def child_environment() -> dict[str, str]:
    """Our environment for a llama.cpp process.

    Passive waiting: OpenMP threads that spin on cores another process computes on slow both down fifty-fold.
    No backtrace: on an abort ggml would start a debugger first.
    """
    root = str(Path(__file__).parents[2])
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "OMP_WAIT_POLICY": "passive",
        "GGML_NO_BACKTRACE": "1",
        "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root,
    }


def _encode(message: dict[str, Any]) -> bytes:
    try:
        return frames.encode(message)
    except (frames.FrameError, ValueError, TypeError) as error:
        raise EngineError(f"{message['op']!r} cannot be sent to the engine: {error}") from None


def _spawn(log: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as errors:
        return subprocess.Popen(
            # -P: a folder named like a module in the caller's directory must not be imported.
            [sys.executable, "-P", "-m", "appliance.engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=child_environment() | {stacks.VARIABLE: str(log.with_suffix(stacks.SUFFIX).absolute())},
            # Ctrl-C is for the parent to handle.
            process_group=0,
        )


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return "has ended" if code == 0 else f"ended with exit code {code}"


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _close_quietly(stream: BinaryIO) -> None:
    """Close a pipe whose other end may be gone."""
    with contextlib.suppress(BrokenPipeError):
        stream.close()
