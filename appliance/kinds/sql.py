"""The `sql` kind: a query, or a change, on SQLite, judged by rows and by the state that is left.

The judge's half. It holds the gold's rows and asks one question per data instance, each twice: on the data as its
author stored it, and on the same data stored in another order. The candidate hands in text only; the worker that
runs it (`sql_worker`, in the candidate's jail) is ours but stands where SQLite is attacked, so what it says is an
answer and nothing more. The gold runs in another jail (`sql_reference`) that the candidate's SQL never enters.

A change is compared whole: tables outside of `targets` must be as the gold leaves them, whatever the target is like.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from appliance import values
from appliance.dialogue import Broken, Dialogue
from appliance.errors import TaskError
from appliance.examination import (
    Examination,
    Finding,
    Opener,
    Outcome,
    jail_cost,
    limits,
)
from appliance.kinds.sql_reference import (
    COMMAND,
    GENERATOR,
    GOLD,
    SOURCE,
    Instance,
    Unusable,
    jail_files,
    question,
    reference,
    rules,
    scripts,
)
from appliance.kinds.sql_rows import judge_change, judge_query
from appliance.nouns import Task, VerdictStatus
from appliance.sandbox.client import Peer
from appliance.sandbox.policy import Policy
from appliance.tables import Field
from appliance.trial import Watch, conversation_ending

START = "environment/solution.sql"
FILES = (GOLD,)
PROBES = "tests/probes.json"
LEAST_HIDDEN = 2

SETTINGS = {
    "mode": Field(str, choices=("query", "dml", "migration")),
    "ordered": Field(bool, required=False),
    "names": Field(bool, required=False),
    "catalogue": Field(bool, required=False),
    "foreign_keys": Field(bool, required=False),
    "tolerance": Field(float, required=False, minimum=0),
    "targets": Field(list, required=False),
    "generated": Field(int, required=False, minimum=0),
    "max_rows": Field(int, required=False, minimum=0),
    "core": Field(str, required=False, choices=("binary", "graded")),
}
_ONLY_FOR = {
    "ordered": ("query",),
    "names": ("query",),
    "catalogue": ("query",),
    "targets": ("dml", "migration"),
    "foreign_keys": ("dml", "migration"),
}
_FAILED: Mapping[str, VerdictStatus] = {"memory": "candidate_resource", "steps": "candidate_timeout"}
"""Words of the worker that are the end of a submission; all others are one failed case."""
_WORDS = ("sql_error", "constraint", "forbidden", "several_statements", "no_query", "too_large", *_FAILED)


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as an `sql` task; what takes a jail, `faults` finds."""
    where, mode = f"{folder}/pool.toml [sql]", settings["mode"]
    for name, modes in _ONLY_FOR.items():
        if name in settings and mode not in modes:
            raise TaskError(f"{where}: field {name!r} means nothing with mode = {mode!r}", remedy="remove it")
    targets = settings.get("targets", [])
    if mode != "query" and (not targets or not all(type(name) is str for name in targets)):
        raise TaskError(f"{where}: field 'targets' names no table", remedy="list the tables that may change")
    _check_instances(folder, int(settings.get("generated", 0)))
    if (folder / PROBES).is_file():
        _check_probes(folder / PROBES, mode)
    for name in (GOLD, START):
        if _not_text((folder / name).read_bytes()):
            raise TaskError(f"{folder / name} is not text", remedy="save it as UTF-8 without NUL characters")


def _check_instances(folder: Path, generated: int) -> None:
    if not scripts(folder, "quick"):
        raise TaskError(
            f"{folder}: public/ holds no data instance", remedy="add a script such as public/data.sql"
        )
    hidden = len(scripts(folder, "hidden"))
    if hidden + generated < LEAST_HIDDEN:
        remedy = f"add {LEAST_HIDDEN - hidden - generated} more as tests/*.sql, or set generated"
        raise TaskError(f"{folder}: fewer than {LEAST_HIDDEN} hidden data instances", remedy=remedy)
    for path in (*scripts(folder, "quick"), *scripts(folder, "hidden")):
        if _not_text(path.read_bytes()):
            raise TaskError(f"{path} is not text", remedy="save it as UTF-8 without NUL characters")
    if generated and not (folder / GENERATOR).is_file():
        raise TaskError(f"{folder}: {GENERATOR} is missing", remedy="add it, with a function script(rng)")
    if (folder / GENERATOR).is_file():
        _check_generator(folder / GENERATOR)


def _check_generator(path: Path) -> None:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise TaskError(f"{path}: {error}", remedy="write a module that Python can parse") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == "script" for node in tree.body):
        raise TaskError(f"{path} defines no function script", remedy="define script(rng), which returns SQL")


def _check_probes(path: Path, mode: str) -> None:
    remedy = 'write a list of lists of statements, such as [["INSERT …"], ["SELECT …"]]'
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy=remedy) from None
    shaped = type(rows) is list and all(type(row) is list and row for row in rows)
    if not shaped or not all(type(text) is str for row in rows for text in row):
        raise TaskError(f"{path}: not a list of lists of statements", remedy=remedy)
    if mode == "query":
        raise TaskError(
            f"{path}: a query leaves nothing to probe", remedy="remove the file, or change the mode"
        )


def _not_text(body: bytes) -> str:
    """Why SQLite would not read `body` to its end; empty when it would."""
    try:
        return "a NUL character" if "\0" in body.decode("utf-8") else ""
    except UnicodeDecodeError as error:
        return str(error)


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name."""
    return name == SOURCE


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    return SOURCE


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """What is no text needs no jail. What it means, only SQLite knows."""
    source = artefacts.get(SOURCE)
    if source is None:
        return Finding("fail", "intake", "missing_file", SOURCE)
    if reason := _not_text(source):
        return Finding("fail", "intake", "not_text", reason)
    return None


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden data instances there are."""
    folder = Path(task.folder)
    return len(scripts(folder, "quick")), len(scripts(folder, "hidden")) + int(
        task.settings.get("generated", 0)
    )


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known: what `appliance task check` runs."""
    gold = (Path(task.folder) / GOLD).read_bytes()
    return {
        "gold": ({SOURCE: gold}, 1.0),
        "empty": ({SOURCE: b""}, 0.0),
        "start": ({SOURCE: task.start.encode()}, 0.0),
    }


def examine(
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Examination:
    """Ask every public instance and, when all are right, every hidden one."""
    public, hidden = totals(task)
    started = clock()
    try:
        instances = reference(task, jails, seed)
    except Unusable as fault:
        return Examination(public, hidden, finding=fault.finding, seconds={"quick": clock() - started})
    interview = _Interview(task, clock)
    with jails.open(COMMAND, Policy(limits(task)), files=jail_files(artefacts[SOURCE])) as conversation:
        interview.conduct(conversation, instances)
        result = conversation.finish()
    return Examination(
        public_total=public,
        hidden_total=hidden,
        outcomes=tuple(interview.outcomes),
        finding=conversation_ending(result, interview.watch.layer, interview.broken, interview.ended),
        seconds=interview.watch.seconds,
        cost={**jail_cost(result), "reference_s": interview.started - started},
        gates=interview.gates,
    )


class _Interview:
    """One pass over the instances: collects outcomes until they end or the submission does."""

    def __init__(self, task: Task, clock: Callable[[], float]) -> None:
        self._task = task
        self.watch = Watch(clock)
        self._rules = rules(task)
        self._is_query = task.settings["mode"] == "query"
        self.started = clock()
        self.outcomes: list[Outcome] = []
        self.ended: Finding | None = None
        self.broken: Broken | None = None

    @property
    def gates(self) -> dict[str, bool]:
        """What a change did outside of its targets takes the whole reward, in graded tasks too."""
        return (
            {}
            if self._is_query
            else {"invariants": all(one.outcome != "outside_target" for one in self.outcomes)}
        )

    def conduct(self, conversation: Peer, instances: tuple[Instance, ...]) -> None:
        budgets = self._task.settings["budgets"]
        dialogue = Dialogue(conversation, 2 * int(budgets["answer_kb"]) * 1024, float(budgets["wall_s"]))
        try:
            for layer in ("quick", "hidden"):
                with self.watch.on(layer):
                    self._ask_all(dialogue, [one for one in instances if one.layer == layer])
                if self.ended or not all(outcome.correct for outcome in self.outcomes):
                    break
            dialogue.end()
        except Broken as broken:
            self.broken = broken

    def _ask_all(self, dialogue: Dialogue, instances: list[Instance]) -> None:
        for instance in instances:
            self.outcomes.append(self._asked(dialogue, instance))
            if self.ended:
                return

    def _asked(self, dialogue: Dialogue, instance: Instance) -> Outcome:
        """The data as it is, then in another order; only what stands both times is right."""
        for base in (instance.base, instance.shuffled):
            moved = base is instance.shuffled
            reply = dialogue.ask(question(self._task, base, reverse=moved))
            if "failed" in reply:
                return self._failed(instance, reply)
            judged = (judge_query if self._is_query else judge_change)(instance.expected, reply, self._rules)
            if judged != "correct":
                word = "unstable" if moved and judged in ("wrong_rows", "wrong_state") else judged
                return Outcome(instance.layer, instance.index, word, _shown(reply))
        return Outcome(instance.layer, instance.index, "correct")

    def _failed(self, instance: Instance, reply: Mapping[str, Any]) -> Outcome:
        word, text = reply["failed"], reply.get("text")
        if reply.keys() != {"failed", "text"} or word not in _WORDS or type(text) is not str:
            raise Broken("malformed", "not a failure")
        if word in _FAILED:
            self.ended = Finding(_FAILED[word], self.watch.layer, word, text)
        return Outcome(instance.layer, instance.index, word, text)


def _shown(reply: Mapping[str, Any]) -> str:
    """The beginning of an answer, for the evidence."""
    return values.dumps({**reply, "rows": reply["rows"][:8]} if "rows" in reply else reply)[:2000].decode()
