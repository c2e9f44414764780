"""The `function` kind: a Python function, judged by calling it.

The judge's half. It holds inputs, expected values and the comparator, and asks one case at a time; the
candidate's half (`function_worker`, in its jail) only answers. One jail serves all cases of a submission, the
public ones first. A reply must be exactly one frame of strict JSON that repeats the case's nonce.

Refused: attributing anything to the host because the candidate said so. A conversation that breaks is the
candidate's failure unless the jail itself reports `infra`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import values
from appliance.dialogue import SILENT, Broken, Dialogue
from appliance.errors import IntegrityError, TaskError
from appliance.examination import (
    Examination,
    Finding,
    Layer,
    Opener,
    Outcome,
    jail_cost,
    jail_finding,
    limits,
)
from appliance.manifest import content_hashes
from appliance.nouns import Task
from appliance.sandbox.client import JailResult, Peer
from appliance.sandbox.policy import Policy
from appliance.tables import Field, check_table

SOURCE = "solution.py"
GOLD = "solution/solution.py"
START = "environment/solution.py"
PUBLIC = "public/examples.json"
HIDDEN = "tests/cases.json"
FILES = (GOLD, PUBLIC, HIDDEN)

SETTINGS = {
    "entry_point": Field(str),
    "core": Field(str, required=False, choices=("binary", "graded")),
}

_CASE = {
    "args": Field(list),
    "kwargs": Field(dict, required=False),
    "raises": Field(str, required=False),
    "tolerance": Field(float, required=False, minimum=0),
}
_COMMAND = ("python3", "-S", "-s", "-B", "-X", "utf8", "/job/worker.py")
_COMMAND_OF_IMAGE = tuple(word for word in _COMMAND if word != "-S")
"""A task names an image for what is installed in it, which Python finds by way of `site`."""
_parsing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what must come back: a value in normal form, or the name of an exception."""

    layer: Layer
    index: int
    args: list[values.Tree]
    kwargs: dict[str, values.Tree]
    expected: values.Tree = None
    raises: str = ""
    tolerance: float | None = None


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `function` task."""
    entry = settings["entry_point"]
    if not entry.isidentifier():
        raise TaskError(f"{folder}/pool.toml: field 'entry_point': {entry!r} is not a Python name")
    read_cases(folder, "quick")
    read_cases(folder, "hidden")
    finding = _syntax((folder / GOLD).read_bytes(), entry)
    if finding is not None:
        raise TaskError(f"{folder / GOLD}: {finding.text}", remedy=f"write a module that defines {entry}")
    start = _syntax((folder / START).read_bytes(), entry)
    # A start may leave the entry point to the candidate; one that is no Python can only be a slip.
    if start is not None and start.outcome != "no_entry_point":
        raise TaskError(f"{folder / START}: {start.text}", remedy="write a start that Python can parse")


def read_cases(folder: Path, layer: Layer) -> tuple[Case, ...]:
    """The public or hidden cases of a task folder, checked."""
    path = folder / (PUBLIC if layer == "quick" else HIDDEN)
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write a JSON list of cases") from None
    if type(rows) is not list or not rows:
        raise TaskError(f"{path}: not a list of cases, or an empty one", remedy="write at least one case")
    return tuple(read_case(f"{path}: case {index}", layer, index, row) for index, row in enumerate(rows))


def read_case(where: str, layer: Layer, index: int, row: values.Tree) -> Case:
    if type(row) is not dict or ("expected" in row) == ("raises" in row):
        raise TaskError(
            f"{where}: not an object with either 'expected' or 'raises'", remedy="write one of them"
        )
    check_table(where, {key: item for key, item in row.items() if key != "expected"}, _CASE, TaskError)
    raises, kwargs = row.get("raises", ""), row.get("kwargs", {})
    if raises and not _is_exception(raises):
        raise TaskError(f"{where}: field 'raises': {raises!r} is not a built-in exception")
    try:
        values.normal(row["args"])
        values.normal({"$tuple": list(kwargs.values())})
        expected = values.normal(row.get("expected"))
    except values.ValueFault as error:
        remedy = 'write plain JSON, or a tag such as {"$tuple": [..]} for other types'
        raise TaskError(f"{where}: {error}", remedy=remedy) from None
    return Case(layer, index, row["args"], kwargs, expected, raises, row.get("tolerance"))


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


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
    """Ask every public case and, when all are right, every hidden one in an order drawn from `seed`."""
    public, hidden = _pinned_cases(task.folder, task.public_hash, task.hidden_hash)
    order = list(hidden)
    random.Random(f"{seed}:{task.task_hash}").shuffle(order)
    interview = _Interview(task, clock)
    policy = Policy(limits(task), env=(("PYTHONHASHSEED", str(seed % 2**32)),))
    command = _COMMAND_OF_IMAGE if task.image else _COMMAND
    with jails.open(command, policy, files=_jail_files(artefacts)) as conversation:
        interview.conduct(conversation, public, order)
        result = conversation.finish()
    return Examination(
        public_total=len(public),
        hidden_total=len(hidden),
        outcomes=tuple(sorted(interview.outcomes, key=lambda found: (found.layer != "quick", found.case))),
        finding=_decide(result, interview),
        seconds=interview.seconds,
        cost=jail_cost(result),
    )


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden cases there are: the denominators, whatever is reached."""
    public, hidden = _pinned_cases(task.folder, task.public_hash, task.hidden_hash)
    return len(public), len(hidden)


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known: what `appliance task check` runs."""
    gold = (Path(task.folder) / GOLD).read_bytes()
    return {
        "gold": ({SOURCE: gold}, 1.0),
        "empty": ({SOURCE: b""}, 0.0),
        "start": ({SOURCE: task.start.encode()}, 0.0),
    }


@functools.lru_cache(maxsize=512)
def _pinned_cases(folder: str, public: str, hidden: str) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Cases by content hash: read once, and only while the folder still is what the task was loaded from."""
    if content_hashes(Path(folder)) != (public, hidden):
        raise IntegrityError(
            f"{folder}: the task changed after it was loaded", remedy="start again with the task as it is now"
        )
    return read_cases(Path(folder), "quick"), read_cases(Path(folder), "hidden")


@functools.cache
def _worker_files() -> Mapping[str, bytes]:
    return {
        "worker.py": Path(__file__).with_name("function_worker.py").read_bytes(),
        "appliance/values.py": Path(values.__file__).read_bytes(),
    }


def _jail_files(artefacts: Mapping[str, bytes]) -> dict[str, bytes]:
    return {**_worker_files(), SOURCE: artefacts[SOURCE]}


class _Interview:
    """One pass over the cases: collects outcomes until the cases end or the candidate breaks off."""

    def __init__(self, task: Task, clock: Callable[[], float]) -> None:
        self._task = task
        self._clock = clock
        self._answer_cap = int(task.settings["budgets"]["answer_kb"]) * 1024
        self.layer: Layer = "quick"
        self.outcomes: list[Outcome] = []
        self.seconds: dict[Layer, float] = {}
        self.failed_load: Finding | None = None
        self.broken: Broken | None = None

    def conduct(self, conversation: Peer, public: Sequence[Case], hidden: Sequence[Case]) -> None:
        dialogue = Dialogue(conversation, self._answer_cap, float(self._task.settings["budgets"]["wall_s"]))
        try:
            with self._timed("quick"):
                going_on = self._load(dialogue) and self._ask_all(dialogue, public)
            if going_on:
                with self._timed("hidden"):
                    self._ask_all(dialogue, hidden)
            dialogue.end()
        except Broken as broken:
            self.broken = broken

    @contextmanager
    def _timed(self, layer: Layer) -> Iterator[None]:
        self.layer = layer
        started = self._clock()
        try:
            yield
        finally:
            self.seconds[layer] = self._clock() - started

    def _load(self, dialogue: Dialogue) -> bool:
        reply = dialogue.ask({"op": "load", "entry": self._task.entry_point})
        if reply == {"loaded": True}:
            return True
        outcome = reply.get("failed")
        if outcome not in ("syntax_error", "load_error", "no_entry_point"):
            raise Broken("malformed")
        self.failed_load = Finding("fail", "quick", outcome, str(reply.get("text", "")))
        return False

    def _ask_all(self, dialogue: Dialogue, cases: Sequence[Case]) -> bool:
        for case in cases:
            request = {"op": "call", "args": case.args, "kwargs": case.kwargs, "cap": self._answer_cap}
            self.outcomes.append(judge_reply(case, dialogue.ask(request)))
        return all(outcome.correct for outcome in self.outcomes)


def judge_reply(case: Case, reply: Mapping[str, Any]) -> Outcome:
    """Compare one reply with its case; Broken when it is not a reply at all."""
    match dict(reply):
        case {"value": tree, **rest} if not rest:
            return _judge_value(case, tree)
        case {"raised": list(family), "text": str(text), **rest} if not rest:
            right = bool(case.raises) and case.raises in family
            return Outcome(case.layer, case.index, "correct" if right else "raised", text)
        case {"unencodable": str(text), **rest} if not rest:
            return Outcome(case.layer, case.index, "unencodable", text)
    raise Broken("malformed", "not a reply")


def _judge_value(case: Case, tree: values.Tree) -> Outcome:
    try:
        answer = values.normal(tree)
    except values.ValueFault as error:
        raise Broken("malformed", str(error)) from None
    got = values.dumps(answer).decode()
    if case.raises:
        return Outcome(case.layer, case.index, "no_raise", got)
    same = values.compare(case.expected, answer, case.tolerance)
    return Outcome(case.layer, case.index, "correct" if same else "wrong_value", got)


def _decide(result: JailResult, interview: _Interview) -> Finding | None:
    """The jail's own ending first, then a breach of protocol, then a solution that did not load."""
    ending = jail_finding(result, interview.layer)
    broken = interview.broken
    if ending is not None or broken is None:
        return ending or interview.failed_load
    if broken.outcome == SILENT:
        return Finding("infra", interview.layer, SILENT, "the jail was not ended at its wall limit")
    text = (
        broken.text
        or f"{result.detail or result.status} {result.stderr[-400:].decode(errors='replace')}".strip()
    )
    return Finding("candidate_protocol", interview.layer, broken.outcome, text)
