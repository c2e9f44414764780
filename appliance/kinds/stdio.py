"""The `stdio` kind: a program in any language, judged by what it reads and prints.

Every case is one fresh jail: input on standard input, answer from standard output, nothing else counts. The budgets of
the task limit each of them. Public cases come first; when all are right, the hidden ones follow: those of files, and
those whose inputs a hidden generator draws from the seed of the judging. For these the gold program says what is
expected. Generator, gold and the author's checker run in jails of their own, which no byte of the candidate's reaches
but the answer that the checker is given.

An exit code is no evidence of success, but a program that fails has not answered. A case over a limit ends the
judging; in `graded` tasks it is a case that failed. What the author's programs do wrong is `task_broken`; a checker
that cannot cope with an answer has refused it, since the candidate chose the answer.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance.examination import (
    Examination,
    Finding,
    Opener,
    Outcome,
    limits,
)
from appliance.kinds.stdio_cases import Case, Material, gold_path, read_material, tolerance
from appliance.kinds.stdio_checkers import CHECKERS, CUSTOM
from appliance.kinds.stdio_languages import LANGUAGES, PYTHON, Language, Unbuilt, build, find_tool
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.once import Once
from appliance.orders import derive_seed
from appliance.sandbox.client import JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy
from appliance.tables import Field
from appliance.trial import Decided, Trial, blamed

START = ""
FILES = ()
SETTINGS = {
    "language": Field(str, choices=tuple(LANGUAGES)),
    "checker": Field(str, required=False, choices=(*CHECKERS, CUSTOM)),
    "absolute": Field(float, required=False, minimum=0),
    "relative": Field(float, required=False, minimum=0),
    "generated": Field(int, required=False, minimum=0),
    "core": Field(str, required=False, choices=("binary", "graded")),
}

REMEMBERED = 32
"""Pairs of task and seed of which the generated cases are kept."""
AUTHOR_LIMITS = Limits(memory_mb=512, pids=32, cpu_s=10, wall_s=30, disk_mb=64, output_kb=1024)
"""Of a generator's and of a checker's jail. The gold program gets what a candidate gets, but for PATIENCE."""
PATIENCE = 4
"""Times the wall limit of a candidate, for the gold program: a busy host is no fault of the task's."""
ACCEPT = b"accept"
_tools: Once[str] = Once(REMEMBERED)
_golds: Once[dict[str, bytes]] = Once(REMEMBERED)
_drawn: Once[tuple[Case, ...]] = Once(REMEMBERED)
_proven: Once[bool] = Once(REMEMBERED)


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `stdio` task."""
    read_material(folder, settings)


def _language(task: Task) -> Language:
    return LANGUAGES[task.settings["language"]]


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name."""
    return name == _language(task).source


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    return _language(task).source


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """A submission without a program needs no jail."""
    source = artefacts.get(_language(task).source)
    if source is None:
        return Finding("fail", "intake", "missing_file", _language(task).source)
    return None if source.strip() else Finding("fail", "intake", "empty_file", _language(task).source)


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden cases there are: the denominators, whatever is reached."""
    material = _material(task)
    return len(material.public), len(material.hidden) + task.settings.get("generated", 0)


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known. A task without a start has nothing handed in for one."""
    name, folder = _language(task).source, Path(task.folder)
    start = folder / "environment" / name
    return {
        "gold": ({name: (folder / gold_path(task.settings)).read_bytes()}, 1.0),
        "empty": ({name: b""}, 0.0),
        "start": ({name: start.read_bytes()} if start.is_file() else {}, 0.0),
    }


def examine(
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Examination:
    """Run every public case and, when all are right, every hidden one; `seed` draws the generated ones."""
    trial = _Trial(task, jails, seed, clock)
    finding = trial.conduct(artefacts[_language(task).source])
    return trial.examination(totals(task), finding)


def _material(task: Task) -> Material:
    return _pinned(
        task.folder, task.public_hash, task.hidden_hash, tuple(sorted(_kind_settings(task).items()))
    )


def _kind_settings(task: Task) -> dict[str, Any]:
    return {name: task.settings[name] for name in SETTINGS if name in task.settings}


@functools.lru_cache(maxsize=128)
def _pinned(folder: str, public: str, hidden: str, settings: tuple[tuple[str, Any], ...]) -> Material:
    """By content hash: read once, and only while the folder still is what the task was loaded from."""
    check_unchanged(Path(folder), public, hidden)
    return read_material(Path(folder), dict(settings))


class _Trial(Trial):
    """One pass over the cases of one submission."""

    def __init__(self, task: Task, jails: Opener, seed: int, clock: Callable[[], float]) -> None:
        super().__init__(task, jails, clock)
        self._seed = seed
        self._material, self._language = _material(task), _language(task)
        found = limits(task)
        answer = min(found.output_kb, int(task.settings["budgets"]["answer_kb"]))
        # Not the seed itself, from which inputs are drawn: the program sees its environment.
        env = (("PYTHONHASHSEED", str(derive_seed("stdio hashes", seed, task.task_hash) % 2**32)),)
        self._policy = Policy(replace(found, output_kb=answer), env)
        self._author = Policy(AUTHOR_LIMITS, env)
        self._gold = Policy(replace(self._policy.limits, wall_s=PATIENCE * found.wall_s), env)
        self._tool = ""

    def conduct(self, source: bytes) -> Finding | None:
        """Ask until the cases end or a finding decides."""
        try:
            with self.watch.on("quick"):
                self._tool = _tools.get((self.task.image, self._language), self._find_tool)
                self._prove((*self._material.public, *self._material.hidden), (self.task.task_hash, "files"))
                program = build(self.jails, self._language, self._tool, source)
                going_on = self._ask_all(program, self._material.public)
            if going_on:
                with self.watch.on("hidden"):
                    self._ask_all(program, self._hidden())
        except (Decided, Unbuilt) as decided:
            return decided.finding
        return None

    def _find_tool(self) -> str:
        return find_tool(self.aside, self._language)

    def _ask_all(self, program: Mapping[str, bytes], cases: Sequence[Case]) -> bool:
        asked = [self._ask(program, case) for case in cases]
        return all(outcome.correct for outcome in asked)

    def _ask(self, program: Mapping[str, bytes], case: Case) -> Outcome:
        result = self.jails.run(self._language.run, self._policy, files=program, stdin=case.input)
        self.count(result)
        outcome = self._judged(case, result)
        self.outcomes.append(outcome)
        return outcome

    def _judged(self, case: Case, result: JailResult) -> Outcome:
        said = result.stderr[-400:].decode(errors="replace")
        if result.status is JailStatus.denied and self._language.compiled and result.signal is None:
            # The host executes what its compiler makes, unless the source told the linker otherwise.
            return Outcome(case.layer, case.index, "not_executable", result.detail)
        if ended := self.ended(result, case.layer, case.index):
            return ended
        if result.status is not JailStatus.ok:
            code = result.exit_code if result.signal is None else -result.signal
            return Outcome(case.layer, case.index, "program_failed", f"{code}: {said}")
        right = self._equals(case, result.stdout)
        shown = result.stdout[:2000].decode(errors="replace")
        return Outcome(case.layer, case.index, "correct" if right else "wrong_answer", shown)

    def _equals(self, case: Case, answer: bytes) -> bool:
        checker = CHECKERS.get(self.task.settings.get("checker", "exact"))
        if checker is not None:
            return checker(case.expected, answer, tolerance(self.task.settings))
        return self._checker_accepts(case, answer)

    def _checker_accepts(self, case: Case, answer: bytes) -> bool:
        """Ask the author's checker; anything but its clear word is a no."""
        files = {
            "checker.py": self._material.checker,
            "input": case.input,
            "answer": answer,
            "expected": case.expected,
        }
        result = self.aside.run((*PYTHON, "/job/checker.py"), self._author, files=files)
        if result.status is JailStatus.infra:
            raise Decided(Finding("infra", case.layer, "infra", result.detail))
        return result.status is JailStatus.ok and result.stdout.strip() == ACCEPT

    def _hidden(self) -> tuple[Case, ...]:
        """Every hidden case; what is drawn is drawn once for all that are judged with this seed."""
        if not self._material.generator:
            return self._material.hidden
        key = (self.task.task_hash, self.task.folder, self._seed)
        return self._material.hidden + _drawn.get(key, self._draw)

    def _prove(self, cases: Sequence[Case], key: tuple[object, ...]) -> None:
        """Each expected output must be right as an answer: a checker that refuses it could never be satisfied."""

        def proven() -> bool:
            for case in cases:
                if not self._equals(case, case.expected):
                    text = f"case {case.index}: the checker refuses the expected output"
                    raise Decided(Finding("task_broken", case.layer, "checker", text))
            return True

        _proven.get(key, proven)

    def _draw(self) -> tuple[Case, ...]:
        golds = _golds.get((self.task.task_hash, self.task.folder), self._build_gold)
        first = len(self._material.hidden)
        cases = tuple(
            self._drawn_case(golds, first, number) for number in range(self.task.settings["generated"])
        )
        self._prove(cases, (self.task.task_hash, self._seed))
        if not any(case.expected.strip() for case in cases):
            text = "the gold program prints nothing for any generated input"
            raise Decided(Finding("task_broken", "hidden", "gold", text))
        return cases

    def _build_gold(self) -> dict[str, bytes]:
        try:
            return build(self.aside, self._language, self._tool, self._material.gold)
        except Unbuilt as unbuilt:
            raise Decided(blamed(replace(unbuilt.finding, layer="hidden"))) from None

    def _drawn_case(self, gold: Mapping[str, bytes], first: int, number: int) -> Case:
        seed = str(derive_seed("stdio input", self._seed, self.task.task_hash, number))
        command = (*PYTHON, "/job/generator.py", seed, str(number))
        program = {"generator.py": self._material.generator}
        drawn = self._trusted("generator", command, self._author, program)
        expected = self._trusted("gold", self._language.run, self._gold, gold, drawn)
        return Case("hidden", first + number, drawn, expected)

    def _trusted(
        self,
        what: str,
        command: Sequence[str],
        policy: Policy,
        files: Mapping[str, bytes],
        stdin: bytes = b"",
    ) -> bytes:
        """What a program of the author's prints; one that fails breaks the task, whoever is being judged."""
        result = self.aside.run(command, policy, files=files, stdin=stdin)
        if result.status is not JailStatus.ok:
            text = f"{what}: {result.detail or result.status} {result.stderr[-400:].decode(errors='replace')}"
            raise Decided(blamed(Finding("task_broken", "hidden", what, text), result))
        return result.stdout
