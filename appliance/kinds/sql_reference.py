"""What the gold gives on every data instance of a task, worked out in a jail of the author's own.

Instances are SQL scripts; a script is run once and read back as tables of rows, so that the same data can be stored
in another order for the second question. The gold answers both. A task whose gold fails, is empty, does nothing or
depends on the order of storage is broken: it judges nobody, and says why. References are kept by task and seed: the
siblings of a group share one.
"""

from __future__ import annotations

import functools
import random
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from appliance import values
from appliance.dialogue import SILENT, Broken, Dialogue
from appliance.examination import Finding, Layer, Opener, jail_finding, limits
from appliance.kinds import function_worker
from appliance.kinds.sql_rows import Rules, judge_change, judge_query, same_rows
from appliance.kinds.sql_worker import folded
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.sandbox.client import JailResult
from appliance.sandbox.policy import Policy

SOURCE = "solution.sql"
GOLD = "solution/solution.sql"
GENERATOR = "hidden/generate.py"
COMMAND = ("python3", "-S", "-s", "-B", "-X", "utf8", "/job/worker.py")
KEPT = 32
"""References kept in memory at once."""
DATA_CAP = 8 << 20
"""Bytes of one data instance as a frame."""
PATIENCE = 4
"""The author's jail prepares all instances: it may take so many times what a submission may."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One data instance: two questions that must have the same answer."""

    layer: Layer
    index: int
    base: values.Tree
    """As the author's script stored it."""
    shuffled: values.Tree
    """The same rows in another order."""
    expected: Mapping[str, Any]


class Unusable(Exception):
    """No submission can be judged; the finding says why, and that it is not the candidate's doing."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


_kept: OrderedDict[tuple[str, str, int], tuple[Instance, ...]] = OrderedDict()
_lock = threading.Lock()


def reference(task: Task, jails: Opener, seed: int) -> tuple[Instance, ...]:
    """The instances of `task` for `seed` with what is expected of each; Unusable when there is nothing to expect."""
    key = (task.folder, task.task_hash, seed)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found = _made(task, jails, seed)
    with _lock:
        _kept[key] = found
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found


def faults(task: Task, jails: Opener, seeds: Sequence[int]) -> list[str]:
    """Why `task` cannot be trusted, over some seeds; empty when it can. What admission asks."""
    found: list[str] = []
    for seed in seeds:
        try:
            instances = reference(task, jails, seed)
        except Unusable as fault:
            found.append(f"seed {seed}: {fault}")
            continue
        public = [one.expected for one in instances if one.layer == "quick"]
        hidden = [one.expected for one in instances if one.layer != "quick"]
        if task.settings["mode"] == "query" and all(_equal(one, public[0], rules(task)) for one in hidden):
            found.append(
                f"seed {seed}: every hidden instance has the rows of the public one: a constant passes"
            )
    return found


def _equal(one: Mapping[str, Any], other: Mapping[str, Any], how: Rules) -> bool:
    return same_rows(one["rows"], other["rows"], replace(how, ordered=False))


def rules(task: Task) -> Rules:
    """How the answers of `task` are compared."""
    settings = task.settings
    return Rules(
        settings.get("ordered", False),
        settings.get("names", False),
        settings.get("tolerance"),
        frozenset(map(folded, settings.get("targets", ()))),
    )


def scripts(folder: Path, layer: Layer) -> list[Path]:
    """The data instances that are written down."""
    return sorted((folder / ("public" if layer == "quick" else "tests")).glob("*.sql"))


def jail_files(sql: bytes) -> dict[str, bytes]:
    """The worker, and the SQL that it is to run."""
    return {**_worker_files(), SOURCE: sql}


@functools.cache
def _worker_files() -> Mapping[str, bytes]:
    here = Path(__file__)
    return {
        "worker.py": here.with_name("sql_worker.py").read_bytes(),
        "appliance/values.py": Path(values.__file__).read_bytes(),
        "appliance/kinds/function_worker.py": Path(function_worker.__file__).read_bytes(),
    }


def question(task: Task, base: values.Tree, *, reverse: bool) -> dict[str, Any]:
    """What the worker is asked of one data instance."""
    settings = task.settings
    asked = {"op": "run", "mode": settings["mode"], "base": base, "reverse": reverse, "caps": caps(task)}
    if settings["mode"] == "query":
        return {**asked, "catalogue": settings.get("catalogue", False)}
    probes = _probes(task.folder, task.hidden_hash)
    targets = sorted(rules(task).targets)
    foreign_keys = settings.get("foreign_keys", False)
    return {**asked, "foreign_keys": foreign_keys, "probes": probes, "targets": targets}


@functools.lru_cache(maxsize=256)
def _probes(folder: str, _hidden_hash: str) -> list[list[str]]:
    path = Path(folder) / "tests/probes.json"
    return values.loads(path.read_bytes()) if path.is_file() else []


def caps(task: Task) -> dict[str, int]:
    """Limits of one run: rows and bytes of an answer, the heap in MiB, steps of SQLite's machine."""
    budgets = task.settings["budgets"]
    return {
        "rows": int(task.settings.get("max_rows", 10_000)),
        "bytes": int(budgets["answer_kb"]) * 1024,
        "heap_mb": max(8, int(budgets["memory_mb"]) // 2),
        "steps": 200_000_000,
    }


def _made(task: Task, jails: Opener, seed: int) -> tuple[Instance, ...]:
    folder = Path(task.folder)
    check_unchanged(folder, task.public_hash, task.hidden_hash)
    files = jail_files((folder / GOLD).read_bytes())
    if (folder / GENERATOR).is_file():
        files["generate.py"] = (folder / GENERATOR).read_bytes()
    own = limits(task)
    wide = replace(own, cpu_s=own.cpu_s * PATIENCE, wall_s=own.wall_s * PATIENCE, output_kb=256)
    fault: Broken | None = None
    found: list[Instance] = []
    with jails.open(COMMAND, Policy(wide), files=files) as conversation:
        dialogue = Dialogue(conversation, DATA_CAP, wide.wall_s)
        try:
            for layer, index, asked in _sources(task, folder, seed):
                found.append(_instance(task, dialogue, layer, index, asked, seed))
            dialogue.end()
        except Broken as broken:
            fault = broken
        result = conversation.finish()
    if fault is not None:
        raise Unusable(_finding(result, fault))
    return tuple(found)


def _finding(result: JailResult, fault: Broken) -> Finding:
    ending = jail_finding(result, "quick")
    if fault.outcome == SILENT or (ending is not None and ending.status == "infra"):
        return ending or Finding("infra", "quick", SILENT, "the jail was not ended at its wall limit")
    text = fault.text or f"{result.status} {result.detail} {result.stderr[-400:].decode(errors='replace')}"
    return Finding("task_broken", "quick", fault.outcome, text)


def _sources(task: Task, folder: Path, seed: int) -> list[tuple[Layer, int, dict[str, Any]]]:
    """Layer, position and what to prepare, public instances first."""
    found: list[tuple[Layer, int, dict[str, Any]]] = []
    layers: tuple[Layer, ...] = ("quick", "hidden")
    for layer in layers:
        for index, path in enumerate(scripts(folder, layer)):
            found.append((layer, index, {"op": "prepare", "script": path.read_text(encoding="utf-8")}))
    first = len(scripts(folder, "hidden"))
    for index in range(first, first + int(task.settings.get("generated", 0))):
        found.append(("hidden", index, {"op": "prepare", "seed": f"{seed}:{task.task_hash}:{index}"}))
    return found


def _instance(
    task: Task, dialogue: Dialogue, layer: Layer, index: int, asked: Mapping[str, Any], seed: int
) -> Instance:
    where = f"{layer} instance {index}"
    data_caps = {**caps(task), "bytes": DATA_CAP, "rows": 1_000_000}
    prepared = _good(dialogue.ask({**asked, "caps": data_caps}), where)
    base = prepared["base"]
    shuffled = _shuffled(base, random.Random(f"{seed}:{task.task_hash}:{layer}:{index}"))
    expected, again = (
        _good(dialogue.ask(question(task, one, reverse=one is shuffled)), where) for one in (base, shuffled)
    )
    _check_gold(task, base, expected, again, where)
    return Instance(layer, index, base, shuffled, expected)


def _good(reply: dict[str, Any], where: str) -> dict[str, Any]:
    if "failed" in reply:
        raise Broken("gold_failed", f"{where}: {reply['failed']}: {reply.get('text', '')}")
    return reply


def _shuffled(base: Mapping[str, Any], rng: random.Random) -> values.Tree:
    """The same rows, inserted in another order."""
    rows = {name: [columns, rng.sample(found, len(found))] for name, (columns, found) in base["rows"].items()}
    return {**base, "rows": rows}


def _check_gold(
    task: Task, base: Mapping[str, Any], expected: Mapping[str, Any], again: Mapping[str, Any], where: str
) -> None:
    """Broken, in words about the task, when the gold's own answer decides nothing."""
    how, is_query = rules(task), task.settings["mode"] == "query"
    judged = (judge_query if is_query else judge_change)(expected, again, how)
    if judged != "correct":
        hint = "order fully, or state a tolerance for sums of reals"
        raise Broken(
            "gold_unstable", f"{where}: the gold differs on the same data stored in another order; {hint}"
        )
    if is_query and not expected["rows"]:
        raise Broken("gold_empty", f"{where}: the gold has no rows, and so would a wrong query")
    if not is_query and not _changes(base, expected["state"], how):
        raise Broken("gold_idle", f"{where}: the gold changes nothing in {', '.join(sorted(how.targets))}")


def _changes(base: Mapping[str, Any], state: Mapping[str, Any], how: Rules) -> bool:
    """Whether the gold left any target different from what it found."""
    before = {folded(name): (list(map(folded, found[0])), found[1]) for name, found in base["rows"].items()}
    for name in how.targets:
        columns, rows = before.get(name, ([], None))
        after = state.get(name)
        if rows is None or after is None:
            return True
        order = sorted(range(len(columns)), key=lambda place: columns[place])
        if [column[0] for column in after["columns"]] != sorted(columns):
            return True
        if not same_rows([[row[place] for place in order] for row in rows], after["rows"], Rules()):
            return True
    return False
