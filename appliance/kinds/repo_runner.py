"""The jail's half of a suite: runs one test of a code base at a time, each in a process of its own.

Run as /job/judge/appliance/kinds/repo_runner.py. The texts of the tests come over the channel, one when it is its turn;
none lies in a file. This process never imports the candidate's code and cannot be looked into by it (it is not
dumpable), but a test runs in the candidate's process, and its word is therefore worth as much as the candidate's:
whether it is believed is decided elsewhere, by twins. A test that ends its process has no word and has failed. After
each, everything that it started is killed and what it left in the writable folders is removed.
"""

# pathlib costs more to import than the rest, and candidate code raises what it likes.
# ruff: noqa: PTH101, PTH106, PTH108, PTH112, PTH114, PTH119, PTH123, PTH208

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import random
import re
import sys
import types
import unittest
import warnings
from collections.abc import Callable
from importlib.machinery import FileFinder, SourceFileLoader
from typing import Any, ClassVar

sys.path.insert(0, "/job/judge")

from appliance.kinds.function_worker import read_request, send

ByPytest = Callable[[dict[str, Any], types.ModuleType, Callable[[BaseException], str]], dict[str, str]]

ROOT = "/job/repo"
WRITABLE = ("/work", "/tmp", "/dev/shm")
WORD_CAP = 4096
PR_SET_DUMPABLE = 4

_IMPORT = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]*)(?:[ \t]+import[ \t]+([A-Za-z_]\w*))?", re.MULTILINE
)
_NOT_AHEAD = frozenset(
    {"antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"}
)
"""Modules of the standard library that do something when they are imported, or are no use here."""

_prctl = ctypes.CDLL(None).prctl


class Compiled(SourceFileLoader):
    """Loads a module of the code base from what was compiled before the first fork; compiling executes nothing."""

    code: ClassVar[dict[str, types.CodeType]] = {}

    def get_code(self, fullname: str) -> types.CodeType | None:
        return self.code.get(self.path) or super().get_code(fullname)


def compile_all() -> None:
    """Compile the code base once, and load what it wants of the standard library; neither runs a line of it.

    What does not compile says so where it is imported.
    """
    for folder, _, names in os.walk(ROOT):
        for path in (f"{folder}/{name}" for name in names if name.endswith(".py")):
            with open(path, "rb") as file:
                body = file.read()
            preload({tuple(word.decode() for word in words) for words in _IMPORT.findall(body)})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    Compiled.code[path] = compile(body, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    finder = FileFinder.path_hook((Compiled, [".py"]))

    def below_root(path: str) -> Any:
        if not path.startswith(ROOT):
            raise ImportError(path)
        return finder(path)

    sys.path_hooks.insert(0, below_root)


def preload(wanted: set[tuple[str, ...]]) -> None:
    """Import modules of the standard library now, and not once more for each test. `wanted`: module, perhaps a part."""
    for module, part in sorted(wanted):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names and top not in _NOT_AHEAD and "__" not in module + part:
            for name in (module, f"{module}.{part}"):
                try:
                    importlib.import_module(name)
                except ImportError:
                    continue


class Tally(unittest.TestResult):
    """Keeps the kind and the place of the first trouble, and no message: a message repeats what was expected."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble = ""

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._note(err)

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._note(err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(err)

    def _note(self, err: Any) -> None:
        self.trouble = self.trouble or describe(err[1])

    @property
    def word(self) -> str:
        if self.errors:
            return "error"
        if self.failures or self.unexpectedSuccesses:
            return "failed"
        if self.skipped or self.expectedFailures or self.testsRun != 1:
            return "skipped"
        return "passed"


def describe(fault: BaseException) -> str:
    """The type of an exception, and the last line of the code base that it went through."""
    place, trace = "", fault.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(ROOT) and "test" not in os.path.basename(name):
            place = f" ({name[len(ROOT) + 1 :]}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(fault).__name__[:80]}{place}"


def load(request: dict[str, Any]) -> types.ModuleType:
    """The module of a request, which stands where the suite's file would."""
    module = types.ModuleType(request["module"])
    module.__file__ = f"{ROOT}/{request['path']}"
    module.__package__ = request["module"].rpartition(".")[0]
    sys.modules[module.__name__] = module
    exec(compile(request["source"], module.__file__, "exec", dont_inherit=True), module.__dict__)
    return module


def test_in(module: types.ModuleType, request: dict[str, Any]) -> unittest.TestCase:
    """A method of a TestCase, of another class, or a function."""
    if not request["owner"]:
        return unittest.FunctionTestCase(module.__dict__[request["name"]])
    owner = module.__dict__[request["owner"]]
    if issubclass(owner, unittest.TestCase):
        test: unittest.TestCase = owner(request["name"])
        return test
    return unittest.FunctionTestCase(getattr(owner(), request["name"]))


def run(request: dict[str, Any], by_pytest: ByPytest | None) -> dict[str, str]:
    """Run one test; anything but a whole pass has another word."""
    try:
        module = load(request)
        test = None if by_pytest else test_in(module, request)
    except BaseException as fault:  # noqa: BLE001 - candidate code raises what it likes
        return {"outcome": "load_error", "text": describe(fault)}
    if by_pytest:
        return by_pytest(request, module, describe)
    tally = Tally()
    unittest.TestSuite(filter(None, [test])).run(tally)
    return {"outcome": tally.word, "text": tally.trouble}


def be_candidate(
    request: dict[str, Any], closed: tuple[int, ...], sink: int, by_pytest: ByPytest | None
) -> None:
    """In the child: everything from here on may be the candidate's."""
    leave = os._exit
    try:
        _prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        for fd in closed:
            os.close(fd)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        sys.path += request["roots"]
        os.chdir(ROOT)
        # The same for every test of a judging, so that it can be repeated.
        random.seed(request["chance"])
        os.write(sink, json.dumps(run(request, by_pytest)).encode()[:WORD_CAP])
    finally:
        # No exit handler, thread or destructor of the candidate has anything left to say.
        leave(0)


def word_of(source: int) -> dict[str, str]:
    """What a test left in its pipe: one word, or a word for there being none."""
    os.set_blocking(source, False)
    try:
        body = os.read(source, 2 * WORD_CAP)
    except BlockingIOError:
        body = b""
    if not body:
        return {"outcome": "missing", "text": "the process of the test ended without a result"}
    try:
        found = json.loads(body)
        return {"outcome": str(found["outcome"])[:20], "text": str(found["text"])[:300]}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"outcome": "malformed", "text": ""}


def run_apart(
    request: dict[str, Any], channel: tuple[int, int], by_pytest: ByPytest | None
) -> dict[str, str]:
    """Run one test in a process of its own, and leave nothing of it."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        be_candidate(request, (*channel, source), sink, by_pytest)
    os.close(sink)
    os.waitpid(pid, 0)
    end_rest()
    found = word_of(source)
    os.close(source)
    for folder in WRITABLE:
        empty(folder)
    return found


def end_rest() -> None:
    """Kill every process but this one and the jail's init."""
    try:  # noqa: SIM105 - contextlib is more to import
        os.kill(-1, 9)
    except ProcessLookupError:
        pass


def empty(folder: str) -> None:
    """Remove what a folder holds, as far as it can be removed."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = f"{folder}/{name}"
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                empty(path)
                os.rmdir(path)
            else:
                os.unlink(path)
        except OSError:
            continue


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    _prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    by_pytest: ByPytest | None = None
    if sys.argv[1:] == ["pytest"]:
        ours = importlib.import_module("appliance.kinds.repo_pytest")
        ours.rehearse()
        by_pytest = ours.run
    sys.path.remove("/job/judge")
    compile_all()
    # What is loaded now is shared by every child: its collector must not touch, and thereby copy, it.
    gc.collect()
    gc.freeze()
    while request := read_request(source):
        if request["op"] != "test":
            send(sink, {"case": request["case"], "end": True})
            os._exit(0)
        send(sink, {"case": request["case"], **run_apart(request, (source, sink), by_pytest)})


if __name__ == "__main__":
    main()
