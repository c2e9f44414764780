"""Makes task folders of a kind for tests, and opens jails that count what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from appliance.examination import Opener, Seat
from appliance.nouns import Task
from appliance.sandbox.client import JailResult, Peer, Snapshot
from appliance.sandbox.policy import Policy
from appliance.tasks import load_task

POOL = """key = "made/task"
version = "1.0.0"
kind = "{kind}"
split = "train"
tier = "easy"
cluster = "made"
licence = "Apache-2.0"
provenance = "self-written"

[budgets]
{budgets}

[{kind}]
{table}
"""


def write_task(
    folder: Path, kind: str, table: str, files: Mapping[str, str], budgets: str = "wall_s = 4"
) -> Path:
    """A task folder with these files beside what every one has."""
    base = {
        "instruction.md": "Do it.",
        "task.toml": '[task]\nname = "made/task"\n',
        "pool.toml": POOL.format(kind=kind, table=table, budgets=budgets),
    }
    for name, text in {**base, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def made_task(
    folder: Path, kind: str, table: str, files: Mapping[str, str], budgets: str = "wall_s = 4"
) -> Task:
    return load_task(write_task(folder, kind, table, files, budgets))


class Counting:
    """Hands every request on to real jails, and counts them."""

    def __init__(self, jails: Opener) -> None:
        self._jails = jails
        self.runs = self.sessions = 0

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Peer:
        return self._jails.open(command, policy, files=files)

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        self.runs += 1
        return self._jails.run(command, policy, files=files, stdin=stdin)

    def session(self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None) -> Seat:
        self.sessions += 1
        return self._jails.session(policy, start)
