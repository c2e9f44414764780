"""The `function` kind: a Python function, judged by calling it.

The judge's half. It holds inputs, expected values and the comparator, and asks one case at a time; the
candidate's half (`function_worker`, in its jail) only answers. One jail serves all cases of a submission: the
public ones first, then the hidden ones, fixed and random alike, then the task's assertions, which run in a jail of
their own. A reply must be exactly one frame of strict JSON that repeats the case's nonce.

Refused: attributing anything to the host because the candidate said so. A conversation that breaks is the
candidate's failure unless the jail itself reports `infra`.
"""

from __future__ import annotations

import ast
import random
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from appliance.errors import TaskError
from appliance.examination import Examination, Finding, Opener, jail_cost
from appliance.kinds.function_cases import (
    CHECK,
    GENERATOR,
    GOLD,
    HIDDEN,
    PUBLIC,
    Material,
    is_exception,
    material,
    read_cases,
)
from appliance.kinds.function_cases import Case as Case
from appliance.kinds.function_cases import judge_reply as judge_reply
from appliance.kinds.function_draw import counts, draw
from appliance.kinds.function_interview import Interview
from appliance.kinds.function_jail import SOURCE, open_candidate
from appliance.kinds.function_suite import Suite
from appliance.nouns import Task
from appliance.sandbox.client import JailStatus
from appliance.tables import Field
from appliance.trial import conversation_ending

START = "environment/solution.py"
FILES = (GOLD,)

SETTINGS = {
    "entry_point": Field(str),
    "core": Field(str, required=False, choices=("binary", "graded")),
    "generated": Field(int, required=False, minimum=0),
    "related": Field(int, required=False, minimum=0),
    "tolerance": Field(float, required=False, minimum=0),
    "may_raise": Field(list, required=False),
    "check": Field(str, required=False),
    "calls": Field(int, required=False, minimum=0),
}
"""`generated` and `related` cases come from tests/generator.py; `check` is the function of tests/check.py."""

_parsing = threading.Lock()


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `function` task."""
    entry = settings["entry_point"]
    if not entry.isidentifier():
        raise TaskError(f"{folder}/pool.toml: field 'entry_point': {entry!r} is not a Python name")
    _check_cases(folder, settings)
    _check_code(folder, CHECK, {"check": settings.get("check", "")}, settings)
    _check_code(folder, GENERATOR, {"generated": "cases", "related": "relations"}, settings)
    finding = _syntax((folder / GOLD).read_bytes(), entry)
    if finding is not None:
        raise TaskError(f"{folder / GOLD}: {finding.text}", remedy=f"write a module that defines {entry}")
    start = _syntax((folder / START).read_bytes(), entry)
    # A start may leave the entry point to the candidate; one that is no Python can only be a slip.
    if start is not None and start.outcome != "no_entry_point":
        raise TaskError(f"{folder / START}: {start.text}", remedy="write a start that Python can parse")


def _check_cases(folder: Path, settings: Mapping[str, Any]) -> None:
    """Assertions need no cases beside them, and random cases need no fixed ones; relations alone do."""
    public, hidden = read_cases(folder, "quick"), read_cases(folder, "hidden")
    if not public and "check" not in settings:
        raise TaskError(f"{folder}: {PUBLIC} is missing", remedy=f"add a file of the task as {PUBLIC}")
    if not hidden and not {"check", "generated"} & settings.keys():
        raise TaskError(f"{folder}: {HIDDEN} is missing", remedy=f"add a file of the task as {HIDDEN}")
    for name in settings.get("may_raise", ()):
        if not is_exception(name):
            where = f"{folder}/pool.toml [function]: field 'may_raise'"
            raise TaskError(f"{where}: {name!r} is not a built-in exception", remedy="name one")


def _check_code(folder: Path, name: str, functions: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """A file of the task's own code is there exactly when a setting asks for it, and defines what is called."""
    wanted, there = [key for key in functions if key in settings], (folder / name).is_file()
    if not wanted and there:
        keys = " or ".join(functions)
        raise TaskError(f"{folder / name}: nothing asks for it", remedy=f"set {keys} in pool.toml [function]")
    for key in wanted:
        if not there:
            raise TaskError(f"{folder}: {name} is missing, field {key!r} asks for it", remedy=f"add {name}")
        finding = _syntax((folder / name).read_bytes(), functions[key])
        if finding is not None:
            raise TaskError(f"{folder / name}: {finding.text}", remedy=f"define {functions[key]} in it")


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name."""
    return name == SOURCE


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    return SOURCE


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """A submission that is no Python, or cannot define what is asked, needs no jail."""
    source = artefacts.get(SOURCE)
    if source is None:
        return Finding("fail", "intake", "missing_file", SOURCE)
    return _syntax(source, task.entry_point)


def _syntax(source: bytes, entry: str) -> Finding | None:
    """Parse, never execute: the size cap and the parser's own depth limits bound the work."""
    try:
        source.decode("utf-8")
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, SOURCE)
    except UnicodeDecodeError as error:
        return Finding("fail", "intake", "not_utf8", str(error))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Finding("fail", "intake", "syntax_error", f"{type(error).__name__}: {error}")
    if not {entry, "*"} & _bound_names(tree):
        return Finding("fail", "intake", "no_entry_point", f"{entry} is not defined")
    return None


def _bound_names(tree: ast.Module) -> set[str]:
    """Names the module may bind at its top level, however deep in its `if` and `try` blocks."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def examine(
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Examination:
    """Ask every public case, then every hidden one in an order drawn from `seed`, then the assertions.

    A layer is only reached when all answers of the one before are right.
    """
    found, (public, hidden) = material(task), totals(task)
    started = clock()
    drawn = draw(task, found, jails, seed)
    if isinstance(drawn, Finding):
        return Examination(public, hidden, finding=drawn, seconds={"hidden": clock() - started})
    order = [*found.hidden, *drawn]
    random.Random(f"{seed}:{task.task_hash}").shuffle(order)
    suite = Suite(task, found, jails, seed, hidden - 1) if "check" in task.settings else None
    interview = Interview(task, clock)
    with open_candidate(task, jails, artefacts[SOURCE]) as talk:
        interview.conduct(talk, found.public, order, suite.hear if suite else None)
        result = talk.finish()
    finding = conversation_ending(result, interview.watch.layer, interview.broken, interview.failed_load)
    timed_out = finding is not None and finding.status == "candidate_timeout"
    if suite is not None and (suite.doubtful or (timed_out and interview.watch.layer == "suite")):
        # Time that passed while the assertions did not end was not the candidate's.
        waited = suite.doubtful and finding is not None and finding.outcome == JailStatus.timeout_wall
        finding = suite.settle(clock) or (None if waited else finding)
    return Examination(
        public_total=public,
        hidden_total=hidden,
        outcomes=tuple(sorted(interview.outcomes, key=lambda found: (found.layer != "quick", found.case))),
        finding=finding,
        seconds=interview.watch.seconds,
        cost={**jail_cost(result), **(suite.cost if suite else {})},
    )


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden cases there are: the denominators, whatever is reached.

    Without an example, that a solution loads is the one public case. The assertions together are one hidden case.
    """
    found: Material = material(task)
    hidden = len(found.hidden) + sum(counts(task)) + ("check" in task.settings)
    return max(1, len(found.public)), hidden


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known: what `appliance task check` runs."""
    return {
        "gold": ({SOURCE: material(task).gold}, 1.0),
        "empty": ({SOURCE: b""}, 0.0),
        "start": ({SOURCE: task.start.encode()}, 0.0),
    }
