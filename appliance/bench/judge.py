"""How fast the judge is: verdicts on a function task per second, and HumanEval beside its own evaluator.

Jails are warm, as in training, and there are as many workers as processors. The two evaluators take turns, so that a
noisy machine is noisy for both, and the best of three rounds of each counts.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from appliance.bench import human_eval
from appliance.bench.jail import Say
from appliance.errors import SandboxError
from appliance.judge import Judge
from appliance.nouns import Task, Verdict
from appliance.paths import Paths
from appliance.pool import folder
from appliance.tasks import load_task
from appliance.yard import Yard

CASES = 20
PUBLIC_CASES = 2
ROUNDS = 3
SOURCE = b"def largest_gap(numbers):\n    return max(b - a for a, b in zip(numbers, numbers[1:]))\n"

_POOL = """\
key = "bench/largest_gap"
version = "1.0.0"
kind = "function"
split = "eval"
tier = "core"
cluster = "gaps"
licence = "Apache-2.0"
provenance = "self-written"

[function]
entry_point = "largest_gap"
"""


def bench(paths: Paths, verdicts: int, data: Path | None, say: Say) -> dict[str, Any]:
    """Run it all. `data`: the HumanEval file, else that of the installed package. Times in seconds.

    SandboxError when a verdict is not what it has to be: a rate of wrong verdicts is no rate.
    """
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="appliance-bench-") as name, Yard(paths, warm=True) as yard:
        judge, pack = Judge(yard), Path(name) / "bench"
        say(f"{verdicts} verdicts of {CASES} cases each, {workers} at once")
        rate = _rate(judge, pack, verdicts, workers)
        found = {"verdicts": verdicts, "cases": CASES, "workers": workers, "verdicts_per_s": round(rate, 1)}
        path = data or human_eval.find_data()
        if path is None:
            why = "no HumanEval data: the package human_eval is not installed, and --human-eval not given"
            return {**found, "human_eval": None, "human_eval_skipped": why}
        return {**found, "human_eval": _human_eval(judge, path, Path(name), workers, say)}


def _rate(judge: Judge, pack: Path, verdicts: int, workers: int) -> float:
    """Verdicts per second on a right solution, all of them from jails of their own."""
    task = write_task(pack)
    _judged(judge, [(task, SOURCE)] * workers, workers)
    begun = time.perf_counter()
    done = _judged(judge, [(task, SOURCE)] * verdicts, workers)
    seconds = time.perf_counter() - begun
    if wrong := sum(verdict.status != "pass" for verdict in done):
        raise SandboxError(
            f"{wrong} of {verdicts} verdicts on a right solution are not pass", remedy="appliance doctor jail"
        )
    return verdicts / seconds


def write_task(pack: Path) -> Task:
    """A task of `CASES` cases, the public ones included."""
    rows = [{"args": [[n, n * n, 3 * n + n * n]], "expected": max(3 * n, n * n - n)} for n in range(CASES)]
    files: Mapping[str, str] = {
        "pool.toml": _POOL,
        "task.toml": 'schema_version = "1.4"\n',
        "instruction.md": "Return the largest difference between neighbours in a list of numbers.\n",
        "environment/solution.py": "def largest_gap(numbers):\n    pass\n",
        "solution/solution.py": SOURCE.decode(),
        "public/examples.json": json.dumps(rows[:PUBLIC_CASES]),
        "tests/cases.json": json.dumps(rows[PUBLIC_CASES:]),
    }
    folder = pack / "largest_gap"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load_task(folder)


def _judged(judge: Judge, work: Sequence[tuple[Task, bytes]], workers: int) -> list[Verdict]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda one: judge.judge(one[0], {"solution.py": one[1]}), work))


def _human_eval(judge: Judge, path: Path, scratch: Path, workers: int, say: Say) -> dict[str, Any]:
    """Both evaluators on every gold, in turns; then ours on every empty body."""
    problems = human_eval.read_problems(path)
    tasks = [load_task(folder.write(scratch / "human-eval", problem)) for problem in problems]
    bodies = [problem.files["solution/solution.py"] for problem in problems]
    golds = list(zip(tasks, bodies, strict=True))
    ours: list[float] = []
    theirs: list[human_eval.Reference | str] = []
    for number in range(1, ROUNDS + 1):
        say(f"round {number} of {ROUNDS}: {len(problems)} golds, theirs and ours")
        theirs.append(human_eval.run_reference(path, workers))
        begun = time.perf_counter()
        verdicts = _judged(judge, golds, workers)
        ours.append(time.perf_counter() - begun)
    say(f"{len(problems)} empty bodies")
    bodies = [problem.files["environment/solution.py"] + b"    pass\n" for problem in problems]
    empty = _judged(judge, list(zip(tasks, bodies, strict=True)), workers)
    return {
        "problems": len(problems),
        "gold_pass": sum(verdict.status == "pass" for verdict in verdicts),
        "empty_pass": sum(verdict.status == "pass" for verdict in empty),
        "empty_fail": sum(verdict.status == "fail" for verdict in empty),
        **_compared(min(ours), theirs),
    }


def _compared(ours_s: float, theirs: Sequence[human_eval.Reference | str]) -> dict[str, Any]:
    """The figures of both; those of the package are null, with the reason, when it could not be run."""
    known = [found for found in theirs if isinstance(found, human_eval.Reference)]
    if not known:
        nothing = {"reference_s": None, "reference_pass": None, "ratio": None}
        return {"ours_s": round(ours_s, 3), **nothing, "reference_skipped": theirs[0]}
    best = min(known, key=lambda found: found.seconds)
    return {
        "ours_s": round(ours_s, 3),
        "reference_s": round(best.seconds, 3),
        "reference_pass": best.passed,
        "ratio": round(ours_s / best.seconds, 3),
    }
