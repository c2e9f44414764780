"""The learner as the rest of the appliance sees it: a process that is spoken to in frames.

Any thread may call; calls are answered one after another. When the process dies, the pending call and every later
one raise LearnerError with the end of the log; its state is gone, and a new Learner continues from a checkpoint. No
heavy library is imported here.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from appliance import errors, frames, stacks
from appliance.errors import ApplianceError, LearnerError
from appliance.learn import child
from appliance.learn.settings import LearnerInfo, LearnerSettings, LoraSettings, StepMetrics
from appliance.nouns import Sample

__all__ = ["Learner", "LearnerInfo", "LearnerSettings", "LoraSettings", "StepMetrics"]

_CLOSE_SECONDS = 5.0
_LOG_TAIL = 800


class Learner:
    """Owns the process from construction to `close`."""

    def __init__(self, settings: LearnerSettings, log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink:
            # Its own session: Ctrl-C stops the run, which then closes the learner between two steps.
            self._process = subprocess.Popen(
                child.command("appliance.learn"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=child.environment() | {stacks.VARIABLE: str(self.stacks.absolute())},
                start_new_session=True,
            )
        try:
            reply = self._call({"op": "open", "settings": settings.to_json()})
        except ApplianceError:
            self.close()
            raise
        self.info = LearnerInfo(**reply)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def owes(self) -> bool:
        """Whether a call waits for the process."""
        return self._lock.locked()

    @property
    def stacks(self) -> Path:
        """Where the process writes its stacks when it is asked for them."""
        return self._log.with_suffix(stacks.SUFFIX)

    def step(self, samples: Sequence[Sample], planned_tokens: int) -> StepMetrics:
        """Make one update; the loss is divided by `planned_tokens` whatever was really sampled."""
        body = {"op": "step", "samples": [asdict(s) for s in samples], "planned_tokens": planned_tokens}
        return StepMetrics(**self._call(body))

    def score(self, samples: Sequence[Sample]) -> tuple[tuple[float, ...], ...]:
        """Return the current policy's log-probability of every completion token, in float32."""
        reply = self._call({"op": "score", "samples": [asdict(s) for s in samples]})
        return tuple(tuple(row) for row in reply["scores"])

    def export_adapter(self, gguf: Path, peft_folder: Path | None, version: str) -> None:
        """Write the adapter as a GGUF for the engine and, when asked, as a folder for peft."""
        peft = None if peft_folder is None else str(peft_folder)
        self._call({"op": "export", "gguf": str(gguf), "peft_folder": peft, "version": version})

    def save(self, folder: Path) -> None:
        """Write a checkpoint; complete, or not there."""
        self._call({"op": "save", "folder": str(folder)})

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint of the same base and LoRA shape."""
        self._call({"op": "load", "folder": str(folder)})

    def close(self) -> None:
        """End the process; a step in progress is lost."""
        if self._process.stdin and not self._lock.locked():
            try:
                self._process.stdin.close()
                self._process.wait(_CLOSE_SECONDS)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                pass
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def __enter__(self) -> Learner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        body = frames.encode(request)
        with self._lock:
            reply = self._exchange(body)
        if reply.pop("ok"):
            return reply
        raise _BY_KIND.get(reply["kind"], LearnerError)(reply["message"], remedy=reply["remedy"])

    def _exchange(self, body: bytes) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(body)
            stdin.flush()
            reply = frames.read(cast(BinaryIO, stdout))
        except (OSError, ValueError, frames.FrameError):
            reply = None
        if reply is None:
            raise self._death()
        return reply

    def _death(self) -> LearnerError:
        try:
            code: int | None = self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        how = "stopped answering" if code is None else f"ended with {_code_words(code)}"
        return LearnerError(
            f"the learner process {how}; end of {self._log}: {_tail(self._log)}",
            remedy="resume the run from its last checkpoint",
        )


_BY_KIND = {
    kind.kind: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ApplianceError)
}


def _code_words(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _tail(log: Path) -> str:
    text = log.read_bytes()[-_LOG_TAIL:].decode("utf-8", errors="replace").strip()
    return "".join(letter if letter.isprintable() else " " for letter in text) or "(empty)"
