"""What a check is given, what it returns, and how it asks a child process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from appliance.clean import clean_line
from appliance.engine.client import child_environment
from appliance.paths import Paths

Grade = Literal["ok", "warn", "fail"]

_TEXT_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Machine:
    """What the checks look at."""

    paths: Paths
    python: str = sys.executable
    """Children are started with it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `fail` means that the main job cannot run."""

    verdict: Grade
    detail: str
    remedy: str = ""
    """The exact command or setting; empty when all is well."""


def good(detail: str) -> Finding:
    return Finding("ok", detail)


def weak(detail: str, remedy: str) -> Finding:
    """The main job runs, but slower or less well guarded than it could."""
    return Finding("warn", detail, remedy)


def bad(detail: str, remedy: str) -> Finding:
    return Finding("fail", detail, remedy)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a child process ended and what it printed."""

    ending: str
    """Empty for exit code 0, else `exit 1`, `signal SIGILL` or `no answer in 60 s`."""
    output: str
    errors: str

    @property
    def complaint(self) -> str:
        """The last line it wrote on stderr, fit for a terminal."""
        lines = self.errors.strip().splitlines()
        return clean_line(lines[-1], _TEXT_LIMIT) if lines else "it said nothing"


def ask(command: Sequence[str], timeout_s: float = 120.0) -> Answer:
    """Run `command` to its end, as the engine would be run."""
    try:
        done = subprocess.run(
            command, env=child_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        return Answer(f"no answer in {timeout_s:.0f} s", "", "")
    return Answer(_ending(done.returncode), _text(done.stdout), _text(done.stderr))


def _ending(code: int) -> str:
    if code == 0:
        return ""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
