"""SWE-bench rows of `repo` tasks, and the code bases that they name.

`rows.jsonl` holds the rows, `repos/owner__name/COMMIT/` the checkouts, as `importers/swe_bench.py` looks for them. Our
code bases are no commits: COMMIT is the beginning of the hash of the files, and says so in the field `appliance`, with
what SWE-bench has no field for: settings, budgets, wrong values and the probe. Other harnesses leave that out and judge
by the tests alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.errors import TaskError
from appliance.importers import patches
from appliance.importers.adapt import Unfit
from appliance.importers.row import RECORD
from appliance.kinds.repo_tree import BASE, GOLD, MANIFEST, PROBE, SUITE
from appliance.manifest import bytes_hash
from appliance.nouns import Task
from appliance.pool.folder import STATEMENT, Folder, read

NAME, SUMMARY = "SWE-bench", "Rows of repo tasks, with their code bases beside them."
ROWS, REPOS = "rows.jsonl", "repos"


def write_tasks(tasks: Sequence[Task], out: Path) -> list[str]:
    """Write a row for each task; TaskError for one of another kind, or one that a diff cannot say."""
    with (out / ROWS).open("w", encoding="utf-8") as file:
        for task in tasks:
            if task.kind != "repo":
                raise TaskError(
                    f"{task.key} is of the kind {task.kind!r}, and SWE-bench has repositories",
                    remedy="export tasks of the kind 'repo'",
                )
            row, base = row_of(read(Path(task.folder)))
            file.write(json.dumps(row) + "\n")
            _write_tree(out / REPOS / row["repo"].replace("/", "__") / row["base_commit"], base)
    return [f"{len(tasks)} rows"]


def row_of(task: Folder) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The row of a task, and the code base that its patches are against."""
    base, gold, suite = (_below(task, part) for part in (BASE, GOLD, SUITE))
    manifest = json.loads(task.files[MANIFEST])
    try:
        patch = patches.write(base, {**base, **gold})
        test_patch = patches.write(base, {**base, **suite})
    except Unfit as reason:
        raise TaskError(f"{task.key}: {reason}", remedy="export it as a Harbor folder") from None
    extra = json.loads(task.files[RECORD]).get("extra", {}) if RECORD in task.files else {}
    own = {
        "repo": task.pool["repo"],
        "budgets": task.pool.get("budgets"),
        "wrong_values": manifest.get("wrong_values"),
        "probe": json.loads(task.files[PROBE]) if PROBE in task.files else None,
        "canary": task.pool.get("canary"),
        "commit_is": "the beginning of the hash of the code base",
    }
    row = {
        **extra,
        "instance_id": task.name,
        "repo": task.key,
        "base_commit": bytes_hash(base)[:40],
        "patch": patch,
        "test_patch": test_patch,
        "problem_statement": task.files[STATEMENT].decode("utf-8"),
        "FAIL_TO_PASS": manifest["FAIL_TO_PASS"],
        "PASS_TO_PASS": manifest["PASS_TO_PASS"],
        "appliance": {name: item for name, item in own.items() if item},
    }
    return row, base


def _below(task: Folder, part: str) -> dict[str, bytes]:
    return {
        name.removeprefix(f"{part}/"): body
        for name, body in task.files.items()
        if name.startswith(f"{part}/")
    }


def _write_tree(root: Path, files: Mapping[str, bytes]) -> None:
    for name, body in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
