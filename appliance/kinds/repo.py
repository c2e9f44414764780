"""The `repo` kind: a small code base to edit, judged by its tests.

The judge's half. A submission is a set of files that replace or add; what it may not change never reaches the jail,
because the tree is built from the untouched base, the allowed files, and the suite. One jail runs the tests: first the
ones that the candidate has seen (`quick`), then the hidden ones with their secret twins (`suite`); a second one, with
no test in it, answers the calls of the probe (`hidden`), where the task has one.

Credit is for FAIL_TO_PASS and the probe, with a fixed denominator; a test without an outcome has failed. PASS_TO_PASS
is the gate `regressions`. A contradiction between twins is asked for again in a new jail before it is called `tamper`,
and the gold solution is asked the same: when it contradicts itself too, the task is broken and not the candidate.

What is left of an attack: code in the process of a test can read that test, and report what it likes. It does not learn
which half of a pair is right, so that it can only guess, once for each pair. A test without a wrong form tells it. A
probe is what such a submission does not pass, and belongs to every task that can have one.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from appliance.errors import TaskError
from appliance.examination import Examination, Finding, Opener
from appliance.kinds.repo_bench import Bench
from appliance.kinds.repo_suite import PASSED, Question, every_form
from appliance.kinds.repo_tree import (
    GOLD,
    MANIFEST,
    SUITE,
    Material,
    gold_of,
    matches,
    pinned,
    read_material,
    tree_of,
)
from appliance.kinds.repo_twins import PASSES
from appliance.nouns import Task
from appliance.tables import Field

START = ""
FILES = (MANIFEST,)
SETTINGS = {
    "allow": Field(list),
    "ignore": Field(list, required=False),
    "runner": Field(str, required=False, choices=("unittest", "pytest")),
    "source": Field(str, required=False),
    "main": Field(str, required=False),
    "core": Field(str, required=False, choices=("binary", "graded")),
}
"""`allow`: globs of paths that a submission may replace or add. `ignore`: globs of paths that it may hold and that are
left out, such as tests that it wrote for itself. `runner`: `unittest`, which also runs plain functions, or the pytest
of the task's image. `source`: the folder that modules are imported from, when it is not
the root. `main`: the path of a submission that is one file."""

NEVER = (
    "**/*.pyc",
    "**/*.pyo",
    "**/*.so",
    "**/*.pth",
    "**/__pycache__/**",
    ".git/**",
    "**/*.dist-info/**",
    "**/*.egg-info/**",
)
"""What would be run without having been read, or is nothing that a person edits."""
LONGEST = 400
"""Bytes of a path."""
GUESSED = 0.5
"""Share of the twins that a guess gets right."""


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `repo` task."""
    where = folder / "pool.toml"
    for name in ("allow", "ignore"):
        if not all(type(glob) is str and glob for glob in settings.get(name, ())):
            raise TaskError(
                f"{where}: field {name!r} is not a list of globs", remedy='write, for example, ["src/**"]'
            )
    if settings.get("runner") == "pytest" and "image" not in tomllib.loads(where.read_text()):
        raise TaskError(
            f"{where}: field 'runner': pytest is not in the default image", remedy="name an image with it"
        )
    material, gold = read_material(folder), gold_of(folder)
    if not gold:
        raise TaskError(
            f"{folder}: {GOLD} is missing or empty", remedy="put the files there that solve the task"
        )
    for name in gold:
        if not _allowed(settings, name):
            raise TaskError(
                f"{where}: field 'allow': {GOLD}/{name} is not covered", remedy="allow it, or remove it"
            )
    tests = {test.path for test, _ in material.public} | set(tree_of(folder / SUITE))
    for name in sorted(tests):
        if _allowed(settings, name):
            raise TaskError(
                f"{where}: field 'allow': it covers {name}, which is judged with",
                remedy="allow less, or ignore it",
            )


def _allowed(settings: Mapping[str, Any], name: str) -> bool:
    """Whether a file of that name reaches the tree."""
    return matches(name, settings["allow"]) and not matches(name, (*settings.get("ignore", ()), *NEVER))


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name: one that is allowed, or one that is left out."""
    return not matches(name, NEVER) and matches(
        name, (*task.settings["allow"], *task.settings.get("ignore", ()))
    )


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    main: str = task.settings.get("main") or min(gold_of(Path(task.folder)))
    return main


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """A submission that changes nothing, or cannot be laid over the base, needs no jail."""
    kept = [name for name in artefacts if _allowed(task.settings, name)]
    if not kept:
        return Finding("fail", "intake", "nothing_submitted", "no file that may be changed")
    files = {*_material(task).base, *_material(task).support, *kept}
    folders = {str(parent) for name in files for parent in Path(name).parents}
    for name in sorted(kept):
        if name in folders or any(str(parent) in files for parent in Path(name).parents):
            return Finding("fail", "intake", "conflicting_path", name)
        if len(name.encode()) > LONGEST:
            return Finding("fail", "intake", "long_path", name)
    return None


def totals(task: Task) -> tuple[int, int]:
    """How many tests the candidate sees, and how many hidden tests and calls there are."""
    material = _material(task)
    return len(material.public), len(material.fixed) + len(material.probes)


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known. The start is what the gold solution replaces, or else all that is allowed."""
    base, gold = _material(task).base, _gold(task)
    allowed = sorted(name for name in base if _allowed(task.settings, name))
    replaced = [name for name in allowed if name in gold] or allowed[:60]
    return {
        "gold": (gold, 1.0),
        "empty": ({}, 0.0),
        "start": ({name: base[name] for name in replaced}, 0.0),
    }


def _gold(task: Task) -> dict[str, bytes]:
    return gold_of(Path(task.folder))


def _material(task: Task) -> Material:
    return pinned(task.folder, task.public_hash, task.hidden_hash)


def examine(
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Examination:
    """Run what the candidate has seen, then the hidden tests among their twins, then the probe."""
    material = _material(task)
    bench = Bench(task, material, jails, seed, clock)
    tree = _tree(task, artefacts)
    seen, answers, finding = bench.suite(tree)
    found = [*seen, *bench.found(answers)]
    if finding is None:
        finding = bench.settle(tree, _tree(task, _gold(task)), answers)
    going_on = task.settings.get("core") == "graded" or all(outcome.correct for outcome in found)
    if finding is None and material.probes and answers.fixed and going_on:
        probed, finding = bench.probe(tree)
        found += probed
    public, hidden = totals(task)
    return Examination(
        public_total=public,
        hidden_total=hidden,
        outcomes=(*found, *bench.broken(answers)),
        finding=finding,
        seconds=bench.seconds,
        cost=bench.cost,
        gates={"regressions": bench.unbroken(seen, answers)},
        guess=GUESSED * len(material.fixed) / hidden,
    )


def _tree(task: Task, artefacts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The code base with what was submitted for it, and what the suite brings along on top."""
    material = _material(task)
    allowed = {name: body for name, body in artefacts.items() if _allowed(task.settings, name)}
    return {**material.base, **allowed, **material.support}


def check_lists(task: Task, jails: Opener, clock: Callable[[], float] = time.monotonic) -> list[str]:
    """What is wrong with the lists of a task: more than one gold verdict can find out, in two jails.

    Every form of every test that can ever be drawn must end with the gold solution as it has to, and every test of
    FAIL_TO_PASS must fail on the untouched code base. SandboxError is the host's failure.
    """
    material = _material(task)
    bench = Bench(task, material, jails, 0, clock)
    forms = [Question(test, text, form) for test, twins in material.fixed for form, text in every_form(twins)]
    words, finding = bench.words("audit", _tree(task, _gold(task)), forms)
    if finding is not None:
        return [f"the gold solution: {finding.outcome}: {finding.text}"]
    asked = zip(forms, words, strict=True)
    wrong = {question.test.id for question, word in asked if (word == PASSED) != PASSES[question.form]}
    start = [Question(test, twins.true) for test, twins in material.fixed]
    before, _ = bench.words("audit", _tree(task, {}), start)
    passed = [question.test.id for question, word in zip(start, before, strict=False) if word == PASSED]
    return [
        *(f"{name}: a form of it does not end as it must with the gold solution" for name in sorted(wrong)),
        *(f"{name}: passes on the untouched code base" for name in passed),
    ]
