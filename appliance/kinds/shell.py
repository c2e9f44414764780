"""The `shell` kind: a script that changes a file tree, judged by the tree that it leaves.

Every case is one fresh session. The fixture lies in `tree`, where the script starts, as the files of an ordinary file
system; the script lies beside it. Afterwards, when nothing of it runs any more, the tree is read by a walker that
follows no link, and compared whole with the wanted one. Fixtures of hidden cases are made by the author's generator
from the seed of the judging, in a session of its own; what is wanted is what the gold script makes of the same fixture
in another, or what the generator has written beside it. Neither shares anything with the session of the candidate.

Exit code and output are no evidence of success. A task may demand a certain exit code, or compare what is printed, on
top of the tree. Refused: times of files, owners and hard links, which are not compared.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from appliance.examination import (
    Examination,
    Finding,
    Opener,
    Outcome,
    limits,
)
from appliance.kinds.shell_cases import (
    GENERATOR,
    GOLD,
    PUBLIC,
    SOURCE,
    Case,
    Material,
    read_material,
    too_long,
)
from appliance.kinds.shell_trees import (
    MODES,
    Tree,
    below,
    first_difference,
    moved,
    same,
    split_arguments,
    unreadable,
)
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.once import Once
from appliance.orders import derive_seed
from appliance.sandbox.client import CollectLimits, Entry, JailResult, JailStatus, Snapshot
from appliance.sandbox.policy import Limits, Policy
from appliance.tables import Field
from appliance.trial import Decided, Trial, blamed

START = "environment/solution.sh"
FILES = (GOLD, PUBLIC, GENERATOR)
SETTINGS = {
    "generated": Field(int, minimum=0),
    "interpreter": Field(str, required=False, choices=("sh", "bash")),
    "expected": Field(str, required=False, choices=("gold", "generator")),
    "modes": Field(str, required=False, choices=MODES),
    "exit": Field(int, required=False, minimum=-1),
    "stdout": Field(str, required=False, choices=("ignore", "exact")),
    "core": Field(str, required=False, choices=("binary", "graded")),
}

TREE, PRISTINE = "tree", "fixture"
REMEMBERED = 32
"""Pairs of task and seed of which the generated cases are kept."""
AUTHOR_LIMITS = Limits(memory_mb=512, pids=32, cpu_s=10, wall_s=30, disk_mb=64, inodes=4096, output_kb=1024)
"""Of the generator's session. The gold script gets what a candidate gets, but for PATIENCE."""
PATIENCE = 4
"""Times the wall limit of a candidate, for the gold script: a busy host is no fault of the task's."""
WALK = CollectLimits(file_bytes=1, total_bytes=1 << 20, entries=20_000, depth=64)
"""Only what is no file, folder or link is looked for."""

_LAY_OUT = (
    "sh",
    "-c",
    # Copied, since a folder of an overlay's lower half cannot be renamed.
    f"cp -a {PRISTINE} {TREE} && rm -rf {PRISTINE}",
)
_INSIDE = ("sh", "-c", f'cd {TREE} && exec "$@"', "sh")
_tools: Once[bool] = Once(REMEMBERED)
_drawn: Once[tuple[Case, ...]] = Once(REMEMBERED)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a script did in its session."""

    result: JailResult
    tree: Tree
    trouble: str = ""
    """Why the tree is not to be compared; empty when it is."""


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `shell` task."""
    read_material(folder, settings)


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name."""
    return name == SOURCE


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    return SOURCE


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """A submission without a script needs no jail."""
    source = artefacts.get(SOURCE)
    if source is None:
        return Finding("fail", "intake", "missing_file", SOURCE)
    return None if source.strip() else Finding("fail", "intake", "empty_file", SOURCE)


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden cases there are: the denominators, whatever is reached."""
    material = _material(task)
    return len(material.public), len(material.hidden) + int(task.settings["generated"])


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known."""
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
    """Run every public case and, when all are right, every hidden one; `seed` draws the fixtures."""
    trial = _Trial(task, jails, seed, clock)
    finding = trial.conduct(artefacts[SOURCE])
    return trial.examination(totals(task), finding)


def _material(task: Task) -> Material:
    return _pinned(task.folder, task.public_hash, task.hidden_hash)


@functools.lru_cache(maxsize=128)
def _pinned(folder: str, public: str, hidden: str) -> Material:
    """By content hash: read once, and only while the folder still is what the task was loaded from."""
    check_unchanged(Path(folder), public, hidden)
    return read_material(Path(folder), {})


class _Trial(Trial):
    """One pass over the cases of one submission."""

    def __init__(self, task: Task, jails: Opener, seed: int, clock: Callable[[], float]) -> None:
        super().__init__(task, jails, clock)
        self._seed = seed
        self._material, self._settings = _material(task), task.settings
        self._interpreter = self._settings.get("interpreter", "sh")
        # Not the seed itself, from which fixtures are drawn: the script sees its environment.
        env = (("PYTHONHASHSEED", str(derive_seed("shell hashes", seed, task.task_hash) % 2**32)),)
        found = limits(task)
        self._policy, self._author = Policy(found, env), Policy(AUTHOR_LIMITS, env)
        self._gold = Policy(replace(found, wall_s=PATIENCE * found.wall_s), env)

    def conduct(self, script: bytes) -> Finding | None:
        """Ask until the cases end or a finding decides."""
        try:
            with self.watch.on("quick"):
                _tools.get((self.task.image, self._interpreter), self._prove_interpreter)
                going_on = self._ask_all(script, self._material.public)
            if going_on:
                with self.watch.on("hidden"):
                    self._ask_all(script, self._hidden())
        except Decided as decided:
            return decided.finding
        return None

    def _prove_interpreter(self) -> bool:
        """Before a byte of the candidate's is run: what the image lacks is not its fault."""
        result = self.aside.run((self._interpreter, "-c", "cp --version >/dev/null"), self._author)
        if result.status is not JailStatus.ok:
            text = f"the image of the task has no {self._interpreter} and cp that work: {result.detail}"
            raise Decided(blamed(Finding("task_broken", "quick", "no_tool", text), result))
        return True

    def _ask_all(self, script: bytes, cases: Sequence[Case]) -> bool:
        asked = [self._ask(script, case) for case in cases]
        return all(outcome.correct for outcome in asked)

    def _ask(self, script: bytes, case: Case) -> Outcome:
        ran = self._run(self.jails, self._policy, script, case)
        self.count(ran.result)
        outcome = self._judged(case, ran)
        self.outcomes.append(outcome)
        return outcome

    def _judged(self, case: Case, ran: Ran) -> Outcome:
        if ended := self.ended(ran.result, case.layer, case.index):
            return ended
        if ran.trouble:
            return Outcome(case.layer, case.index, "unreadable", ran.trouble)
        modes = self._settings.get("modes", "ignore")
        if difference := first_difference(case.expected, ran.tree, case.fixture, modes):
            word, path = difference
            return Outcome(case.layer, case.index, word, os.fsencode(path).decode(errors="backslashreplace"))
        word, got = self._told(case, ran.result)
        return Outcome(case.layer, case.index, word, got)

    def _told(self, case: Case, result: JailResult) -> tuple[str, str]:
        """What the script said, where the task asks for it; the tree is right."""
        if "exit" in self._settings and result.exit_code != self._settings["exit"]:
            return "other_exit", f"{result.status} {result.exit_code}"
        same_output = result.stdout.removesuffix(b"\n") == case.stdout.removesuffix(b"\n")
        if self._settings.get("stdout") == "exact" and not same_output:
            return "other_output", result.stdout[:2000].decode(errors="replace")
        return "correct", ""

    def _run(self, jails: Opener, policy: Policy, script: bytes, case: Case) -> Ran:
        """Lay out the fixture, run the script on it, and read what is there then."""
        start = Snapshot("", (*moved(case.fixture, PRISTINE), Entry(SOURCE, "file", 0o755, script)))
        patient = replace(policy.limits, cpu_s=AUTHOR_LIMITS.cpu_s, wall_s=AUTHOR_LIMITS.wall_s)
        with jails.session(policy, start) as seat:
            laid = seat.run(_LAY_OUT, limits=patient)
            if laid.status is not JailStatus.ok:
                text = f"the fixture cannot be laid out: {laid.detail or laid.stderr[-400:].decode(errors='replace')}"
                raise Decided(blamed(Finding("task_broken", case.layer, "fixture", text), laid))
            command = (*_INSIDE, self._interpreter, f"../{SOURCE}", *case.arguments)
            result = seat.run(command, stdin=case.stdin)
            if result.status is JailStatus.infra:
                return Ran(result, {})
            if seat.broken:
                return Ran(result, {}, seat.broken)
            snapshot = seat.snapshot()
            trouble = unreadable(snapshot, seat.artefacts(WALK), TREE)
        tree = below(snapshot, TREE)
        return Ran(result, tree or {}, trouble if tree is not None else f"{TREE} is no folder any more")

    def _hidden(self) -> tuple[Case, ...]:
        """Every hidden case; what is drawn is drawn once for all that are judged with this seed."""
        key = (self.task.task_hash, self.task.folder, self._seed)
        return self._material.hidden + _drawn.get(key, self._draw)

    def _draw(self) -> tuple[Case, ...]:
        first = len(self._material.hidden)
        cases = tuple(self._drawn_case(first, number) for number in range(self._settings["generated"]))
        idle = all(same(case.fixture, case.expected) for case in cases)
        if idle and "exit" not in self._settings and self._settings.get("stdout") != "exact":
            text = "every generated fixture already is what is wanted"
            raise Decided(Finding("task_broken", "hidden", "generator", text))
        return cases

    def _drawn_case(self, first: int, number: int) -> Case:
        seed = str(derive_seed("shell fixture", self._seed, self.task.task_hash, number))
        start = Snapshot(
            "", (*moved({}, TREE), Entry("generator.py", "file", 0o755, self._material.generator))
        )
        with self.aside.session(self._author, start) as seat:
            command = (*_INSIDE, "python3", "-s", "-B", "-X", "utf8", "../generator.py", seed, str(number))
            result = seat.run(command)
            if result.status is not JailStatus.ok:
                said = result.stderr[-400:].decode(errors="replace")
                text = f"{result.detail or result.status} {said}"
                raise Decided(blamed(Finding("task_broken", "hidden", "generator", text), result))
            snapshot = seat.snapshot()
        trouble = snapshot.truncated or " ".join(f"{item.shown}: {item.reason}" for item in snapshot.refused)
        fixture, files = below(snapshot, TREE), {entry.path: entry.body for entry in snapshot.entries}
        if trouble or fixture is None:
            text = trouble or f"it left no folder {TREE}"
            raise Decided(Finding("task_broken", "hidden", "generator", text))
        arguments = tuple(split_arguments(files.get("arguments", b"")))
        if too_long(arguments):
            raise Decided(Finding("task_broken", "hidden", "generator", "its arguments are too long"))
        case = Case("hidden", first + number, fixture, {}, arguments, files.get("stdin", b""))
        return self._with_expected(case, snapshot, files.get("stdout", b""))

    def _with_expected(self, case: Case, snapshot: Snapshot, stdout: bytes) -> Case:
        if self._settings.get("expected") == "generator":
            wanted = below(snapshot, "expected")
            if wanted is None:
                text = "it left no folder named expected"
                raise Decided(Finding("task_broken", "hidden", "generator", text))
            return replace(case, expected=wanted, stdout=stdout)
        ran = self._run(self.aside, self._gold, self._material.gold, case)
        right = self._settings.get("exit", 0)
        if ran.trouble or ran.result.exit_code != right:
            said = ran.result.stderr[-400:].decode(errors="replace")
            text = f"the gold script: {ran.trouble or ran.result.detail or ran.result.exit_code} {said}"
            raise Decided(blamed(Finding("task_broken", "hidden", "gold", text), ran.result))
        return replace(case, expected=ran.tree, stdout=ran.result.stdout)
