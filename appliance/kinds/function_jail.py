"""The jails of a `function` judging: what lies in them and how their program is started.

Our programs go in with their byte code, because compiling them anew takes longer than answering twenty cases. A
Python of another version, as an image may have, does not use it and reads the source beside it. The hash seed is
fixed: a solution that depends on the order of a set does the same in every jail, and learns nothing about our seeds
from its environment.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from appliance import values
from appliance.examination import Opener, limits
from appliance.nouns import Task
from appliance.sandbox.client import Peer
from appliance.sandbox.policy import Policy

SOURCE = "solution.py"
"""The candidate's file, in what is handed in and in its jail."""

_PROGRAMS = "appliance/kinds"
_MAIN = """\
from _frozen_importlib_external import SourceFileLoader
exec(SourceFileLoader("__main__", "/job/appliance/kinds/{name}.py").get_code("__main__"))
"""
"""Runs a program as the main module, from its byte code where that fits this Python."""
_COMMAND = ("python3", "-S", "-s", "-B", "/job/worker.py")
_COMMAND_OF_IMAGE = tuple(word for word in _COMMAND if word != "-S")
"""A task names an image for what is installed in it, which Python finds by way of `site`."""
_ENVIRONMENT = (("PYTHONHASHSEED", "1"),)
_MODULES = {
    "function_worker": ("function_worker",),
    "function_tester": ("function_worker", "function_tester"),
    "function_generator": ("function_worker", "function_tester", "function_generator"),
}
"""What each program is made of."""
_UNCHECKED = (1).to_bytes(4, "little")
"""The flags of byte code that is found by a hash which nobody checks."""
_PATIENCE = 2
"""A task's own program may take so many times what a candidate may: it waits for one, and compares."""


def open_candidate(task: Task, jails: Opener, source: bytes) -> Peer:
    """A conversation with the worker of a solution."""
    files = {**_program("function_worker"), SOURCE: source}
    return jails.open(_command(task), Policy(limits(task), env=_ENVIRONMENT), files=files)


def open_author(task: Task, jails: Opener, program: str, files: Mapping[str, bytes]) -> Peer:
    """A conversation with one of our programs that runs the task's own code, in a jail of its own."""
    own = limits(task)
    patient = replace(own, cpu_s=_PATIENCE * own.cpu_s, wall_s=_PATIENCE * own.wall_s)
    policy = Policy(patient, env=_ENVIRONMENT)
    return beside(jails).open(_command(task), policy, files={**_program(program), **files})


def beside(jails: Opener) -> Opener:
    """Where a task's own code runs: not under the trace of an audit, which watches the candidate."""
    found: Opener = getattr(jails, "aside", jails)
    return found


def _command(task: Task) -> tuple[str, ...]:
    return _COMMAND_OF_IMAGE if task.image else _COMMAND


@functools.cache
def _program(name: str) -> Mapping[str, bytes]:
    """The files of one of our programs."""
    here = Path(__file__).parent
    files = {"worker.py": _MAIN.format(name=name).encode()}
    for module in _MODULES[name]:
        files |= _compiled(_PROGRAMS, module, (here / f"{module}.py").read_bytes())
    return files | _compiled("appliance", "values", Path(values.__file__).read_bytes())


def _compiled(folder: str, module: str, source: bytes) -> dict[str, bytes]:
    path = f"{folder}/{module}.py"
    code = marshal.dumps(compile(source, f"/job/{path}", "exec", dont_inherit=True))
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
    return {path: source, f"{folder}/__pycache__/{module}.{sys.implementation.cache_tag}.pyc": head + code}
