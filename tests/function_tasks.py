"""Function tasks written for one test, and jails that count what is opened."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.examination import Opener
from appliance.nouns import Task
from appliance.sandbox.client import Peer
from appliance.sandbox.policy import Policy
from appliance.tasks import load_task

POOL = """\
key = "own/{name}"
version = "1.0.0"
kind = "function"
split = "eval"
tier = "easy"
cluster = "own"
licence = "Apache-2.0"
provenance = "self-written"

[function]
entry_point = "solve"
{settings}

[budgets]
cpu_s = 1.0
wall_s = 3.0
memory_mb = 128
{budgets}
"""


def write(folder: Path, gold: str, *, settings: str = "", budgets: str = "", **files: Any) -> Path:
    """A task folder. `files`: `check` and `generator` as text, `public` and `cases` as rows."""
    wanted = {
        "pool.toml": POOL.format(name=folder.name, settings=settings, budgets=budgets),
        "task.toml": 'schema_version = "1.4"\n',
        "instruction.md": "Write `solve`.\n",
        "environment/solution.py": "def solve(*given):\n    pass\n",
        "solution/solution.py": gold,
    }
    for key, name in (("check", "tests/check.py"), ("generator", "tests/generator.py")):
        if key in files:
            wanted[name] = files[key]
    for key, name in (("public", "public/examples.json"), ("cases", "tests/cases.json")):
        if key in files:
            wanted[name] = json.dumps(files[key])
    for name, text in wanted.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def task(folder: Path, gold: str, **parts: Any) -> Task:
    return load_task(write(folder, gold, **parts))


class Counting:
    """Jails that remember which programs were opened in them."""

    def __init__(self, jails: Opener) -> None:
        self._jails, self._lock = jails, threading.Lock()
        self.opened: list[frozenset[str]] = []

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Peer:
        with self._lock:
            self.opened.append(frozenset(files or {}))
        return self._jails.open(command, policy, files=files)
