"""What the tests of signals share: tasks, and reading one signal of one submission in real jails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import quality
from appliance.manifest import bytes_hash
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.quality import Quality, Spec
from appliance.signals import Exhibit, Reading, Wanted
from appliance.tasks import find_task
from appliance.yard import Yard

PACK = Path(__file__).parent / "data/pack_quality"
MONITOR = Wanted("monitor")


def task_named(name: str) -> Task:
    return find_task(f"quality/{name}", [PACK])


def gold(task: Task) -> bytes:
    return (Path(task.folder) / "solution/solution.py").read_bytes()


@contextmanager
def opened_yard(home: Path) -> Iterator[Yard]:
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield yard


def read_signal(
    yard: Yard,
    name: str,
    artefacts: Mapping[str, bytes],
    start: Mapping[str, bytes] | None = None,
    wanted: Wanted = MONITOR,
) -> Reading:
    """One signal on any tree; the task lends what is not looked at."""
    begun = start or {}
    task = replace(task_named("longest_word"), task_hash=bytes_hash(begun))
    exhibit = Exhibit(task, artefacts, begun, artefacts, yard.default, yard.tools, 0, time.monotonic)
    found: Reading = quality.load_signal(name).read(exhibit, wanted)
    return found


def measured(yard: Yard, spec: Spec, task: Task, source: bytes, **more: Any) -> Quality:
    return quality.measure(
        spec, task, {"solution.py": source}, yard.of(task), more.get("seed", 0), tools=yard.tools
    )
