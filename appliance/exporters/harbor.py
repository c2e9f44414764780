"""Harbor folders of tasks, every file and every unknown key of them, so that they come back as they were.

A task of Harbor brings its own verifier. Where a plain one can be made, it is added: a Dockerfile, `tests/test.sh` and
a runner for `function` and `stdio` tasks with fixed cases or assertions. It is weaker than ours: the candidate runs
beside the answers, no case is random, and no signal but right or wrong is left. The import drops what was added.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import values
from appliance.exporters import harbor_runner
from appliance.importers.harbor import ADDED
from appliance.nouns import Task
from appliance.pool.folder import Folder, read, write

NAME, SUMMARY = "Harbor folder", "Task folders as they are, with a plain verifier where one can be made."
_MARK = ADDED.decode()
_DOCKERFILE = f"{_MARK}\nFROM python:3.11-slim\nWORKDIR /app\n"
_TEST = f"""#!/bin/sh
{_MARK}
mkdir -p /logs/verifier
python3 /tests/appliance_runner.py /app > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""
_SOLVE = f"#!/bin/sh\n{_MARK}\ncp /solution/{{name}} /app/{{name}}\n"
_LANGUAGES = {"python": "solution.py", "sh": "solution.sh", "bash": "solution.sh"}
_CHECKERS = ("exact", "lines", "tokens", "bag")


def write_tasks(tasks: Sequence[Task], out: Path) -> list[str]:
    """Write a folder for each task."""
    remarks = [f"{len(tasks)} folders"]
    for task in tasks:
        folder = read(Path(task.folder))
        if why := lacking(folder):
            remarks.append(f"{task.key}: without a verifier of its own: {why}")
        else:
            folder = completed(folder)
        write(out, folder)
    return remarks


def lacking(task: Folder) -> str:
    """Why no plain verifier can be made for a task; empty when one can."""
    kind, table = task.pool["kind"], task.pool[task.pool["kind"]]
    if any(name in task.files for name in ("tests/test.sh", "environment/Dockerfile", "solution/solve.sh")):
        return "it brings files of Harbor's"
    if kind == "function":
        fixed = "tests/cases.json" in task.files or "tests/check.py" in task.files
        return "" if fixed else "it has random cases only"
    if kind != "stdio":
        return f"the kind {kind!r} needs the appliance"
    if table["language"] not in _LANGUAGES or table.get("checker", "exact") not in _CHECKERS:
        return "its language or checker needs the appliance"
    return "" if any(name.startswith("tests/") for name in task.files) else "it has random cases only"


def completed(task: Folder) -> Folder:
    """The task with a verifier that any container with Python can run."""
    kind = task.pool["kind"]
    name = _LANGUAGES[task.pool[kind].get("language", "python")]
    plan: dict[str, Any] = {"note": _MARK, "kind": kind, "file": name, **task.pool[kind]}
    start = f"COPY {name} /app/{name}\n" if f"environment/{name}" in task.files else ""
    files = {
        "environment/Dockerfile": (_DOCKERFILE + start).encode(),
        "solution/solve.sh": _SOLVE.format(name=name).encode(),
        "tests/appliance_task.json": json.dumps(plan, indent=1).encode(),
        "tests/appliance_runner.py": _source(harbor_runner.__file__),
        "tests/appliance_values.py": _source(values.__file__),
        "tests/test.sh": _TEST.encode(),
    }
    marked = task.executable | {"tests/test.sh", "solution/solve.sh"}
    return replace(task, files={**task.files, **files}, executable=frozenset(marked))


def _source(path: str) -> bytes:
    return ADDED + b"\n" + Path(path).read_bytes()
