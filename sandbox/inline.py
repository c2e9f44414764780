"""A Python job carried out by a forked interpreter, as one that was started for it would.

The differences that remain are the modules that are loaded already, a few frames less of recursion, and that the
interpreter is not torn down at its end: exit functions run, threads are waited for, streams are flushed, and objects
that live until then are not finalised.
"""

# pathlib costs more to import than all the rest.
# ruff: noqa: PTH100, PTH119, PTH120, PTH123

from __future__ import annotations

import atexit
import builtins
import ctypes
import io
import os
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

PR_SET_NAME = 15
SEARCHED = [
    path for path in sys.path if path not in map(str, (Path(__file__).parent, Path(__file__).parents[2]))
]
"""Where a new interpreter would look for modules, but for the folder of its script."""
INTERRUPTED = -1
"""Instead of an exit code: end by SIGINT."""
EXIT_UNWRITTEN = 120
"""What Python exits with when it cannot flush its standard streams."""
BY_SITE = ("copyright", "credits", "exit", "help", "license", "quit")
"""Builtins that a Python without site lacks."""

libc = ctypes.CDLL(None)


def carry_out(name: str, program: str, words: list[str], flags: set[str]) -> NoReturn:
    """Be `program`, called `name`, with the options `flags` for `words`: a script or `-c` and a text, and arguments."""
    finish(run(name, words, take_over(program, words, flags)))


def prepare() -> None:
    """In the zygote: what is the same for every job. `take_over` does the rest."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "appliance"]:
        del sys.modules[name]
    sys.path[:] = SEARCHED
    kept = [os.dup(fd) for fd in range(3)]
    # Like the descriptors of a job, so that what streams find out about them is true.
    reading, writing = os.pipe()
    for fd, like in enumerate((os.memfd_create("stdin"), writing, writing)):
        os.dup2(like, fd)
    renew_streams(unbuffered=False)
    for fd, back in enumerate(kept):
        os.dup2(back, fd)
    os.closerange(min(kept), max(kept) + 1)
    for fd in (reading, writing):
        os.close(fd)


def rehearse() -> None:
    """Take over once for nothing; taking over again is as good as the first time."""
    main = take_over("/usr/bin/python3", ["-c", "pass"], set())
    exec(compile("import sys\nfor _ in range(2): len(sys.argv)", "<rehearsal>", "exec"), main.__dict__)


def take_over(program: str, words: list[str], flags: set[str]) -> ModuleType:
    """Make this process look like a Python that was started for `words`; return its empty main module."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = ["-c", *words[2:]] if words[0] == "-c" else words
    main.__dict__.update(__annotations__={}, __builtins__=builtins)
    if words[0] != "-c":
        main.__dict__.update(__file__=words[0], __cached__=None)
    sys.executable = program
    libc.prctl(PR_SET_NAME, os.path.basename(program).encode(), 0, 0, 0)
    if "u" in flags:
        renew_streams(unbuffered=True)
    if "S" in flags:
        for name in BY_SITE:
            builtins.__dict__.pop(name, None)
    sys.path[:] = SEARCHED
    if not flags & {"I", "P"}:
        sys.path.insert(0, "" if words[0] == "-c" else os.path.dirname(os.path.abspath(words[0])))
    return main


def renew_streams(*, unbuffered: bool) -> None:
    """The standard streams, on what the jail's descriptors are now."""
    for name, mode, fd, errors in (
        ("stdin", "r", 0, "surrogateescape"),
        ("stdout", "w", 1, "surrogateescape"),
        ("stderr", "w", 2, "backslashreplace"),
    ):
        binary = open(fd, f"{mode}b", closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            binary, "utf-8", errors, line_buffering=fd == 2, write_through=unbuffered and fd > 0
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def source_of(name: str, words: list[str]) -> Any:
    """The job's code, compiled; ends the process as Python does when there is none."""
    if words[0] == "-c":
        return compile(words[1], "<string>", "exec")
    try:
        with open(words[0], "rb") as file:
            body = file.read()
    except OSError as error:
        sys.stderr.write(f"{name}: can't open file {words[0]!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    return compile(body, words[0], "exec")


def run(name: str, words: list[str], main: ModuleType) -> int:
    """Run the job as the main module; return its exit code as Python would choose it."""
    try:
        exec(source_of(name, words), main.__dict__)
    except SystemExit as leaving:
        return code_of(leaving)
    except BaseException as error:  # noqa: BLE001 - it is the candidate's
        trace = error.__traceback__
        # Without the frames that are ours.
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def code_of(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return (leaving.code or 0) & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def finish(code: int) -> NoReturn:
    """End as the interpreter does, but for tearing it down: that would touch, and so copy, all that is shared."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if not getattr(stream, "closed", True):
                stream.flush()
        except (OSError, ValueError) as error:
            print(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}", file=sys.__stderr__)
            code = code or EXIT_UNWRITTEN
    if code == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)
