"""Asking a process of ours where it is: it writes the stack of its main thread to a file when it gets a signal.

The handler is the interpreter's own (faulthandler), in C: it answers while the interpreter's lock is held by native
code, but not while the process is stopped. Nobody signals a process that has no such handler yet: it would die of it.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "APPLIANCE_STACKS"
"""Names the file to a child."""
SIGNAL = signal.SIGUSR1
SUFFIX = ".stacks"
MOST_BYTES = 256 * 1024
"""Of one answer that is read."""
TRIES = 3


def answer(env: Mapping[str, str]) -> None:
    """In a process: answer SIGNAL with the stack of the thread that gets it, appended to the file that `env` names.

    A file that cannot be opened leaves the process without an answer.
    """
    if not (name := env.get(VARIABLE)):
        return
    try:
        # Never closed: the handler writes to this descriptor for as long as the process lives.
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    except OSError:
        return
    # Not all threads: to walk the frames of another one while it runs can crash the process.
    faulthandler.register(SIGNAL, file=file, all_threads=False, chain=False)


def ask(pid: int, path: Path, pause: Callable[[float], object]) -> str:
    """Ask process `pid`, whose file is `path`; return what it wrote, or nothing. `pause` waits for seconds."""
    before = _size(path)
    if not handles(pid):
        return ""
    try:
        # Of the threads that would take it the kernel prefers the main one, which does the work in ours.
        os.kill(pid, SIGNAL)
    except (ProcessLookupError, PermissionError):
        return ""
    last = before
    for _ in range(TRIES):
        pause(1.0)
        # It writes line by line: it is done when nothing more comes.
        if before < last == _size(path):
            break
        last = _size(path)
    return _read(path, before)


def handles(pid: int) -> bool:
    """Whether the process has a handler for SIGNAL."""
    try:
        rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((row.split()[1] for row in rows if row.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (SIGNAL - 1) & 1)


def own(path: Path) -> str:
    """Append the stacks of all threads of this process to `path`, and return them; nothing when that fails."""
    before = _size(path)
    try:
        with path.open("ab") as file:
            faulthandler.dump_traceback(file=file, all_threads=True)
    except OSError:
        return ""
    return _read(path, before)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path, start: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(MOST_BYTES).decode("utf-8", "backslashreplace")
    except OSError:
        return ""
