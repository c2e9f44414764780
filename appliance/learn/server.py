"""The learner process: frames in, frames out, one request at a time.

The first request is `open` with the settings; `info` answers it. Every other request names one method of the worker.
Standard output carries frames and nothing else: whatever a library prints there goes to standard error.
The process ends when its input does.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from safetensors import SafetensorError

from appliance import frames, stacks
from appliance.errors import ApplianceError
from appliance.learn.settings import LearnerSettings
from appliance.learn.worker import Worker
from appliance.nouns import Sample

_FAULTS = (
    ArithmeticError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    SafetensorError,
)
"""What torch, safetensors and gguf raise."""


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends."""
    worker: Worker | None = None
    while (request := frames.read(requests)) is not None:
        try:
            if worker is None:
                worker = Worker(LearnerSettings.from_json(request["settings"]))
                reply = asdict(worker.info)
            else:
                reply = _OPERATIONS[request["op"]](worker, request)
            frames.write(replies, {"ok": True} | reply)
        except ApplianceError as error:
            frames.write(replies, _refusal(error.kind, error.message, error.remedy))
        except _FAULTS as error:
            with suppress(OSError):  # the log may lie on the disk that is full
                traceback.print_exc()
            remedy = "free disk space; the run resumes" if "No space left" in str(error) else ""
            frames.write(replies, _refusal("learner", f"{type(error).__name__}: {error}", remedy))


def main() -> None:
    """Keep the reply pipe to ourselves and serve."""
    stacks.answer(os.environ)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, replies)


def _refusal(kind: str, message: str, remedy: str) -> dict[str, Any]:
    return {"ok": False, "kind": kind, "message": message, "remedy": remedy}


def _step(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    return asdict(worker.step(_samples(request), request["planned_tokens"]))


def _score(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    return {"scores": worker.score(_samples(request))}


def _export(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    peft = request["peft_folder"]
    worker.export_adapter(Path(request["gguf"]), Path(peft) if peft else None, request["version"])
    return {}


def _save(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    worker.save(Path(request["folder"]))
    return {}


def _load(worker: Worker, request: Mapping[str, Any]) -> dict[str, Any]:
    worker.load(Path(request["folder"]))
    return {}


def _samples(request: Mapping[str, Any]) -> list[Sample]:
    sequences = ("prompt_ids", "completion_ids", "logprobs")
    return [
        Sample(**fields | {name: tuple(fields[name]) for name in sequences}) for fields in request["samples"]
    ]


_OPERATIONS: dict[str, Callable[[Worker, Mapping[str, Any]], dict[str, Any]]] = {
    "step": _step,
    "score": _score,
    "export": _export,
    "save": _save,
    "load": _load,
}
