"""Other surroundings for a judging: variables that a solution must not depend on, put into every jail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.examination import Seat
from appliance.leash import Held, Leash
from appliance.nouns import Task
from appliance.sandbox.client import JailResult, Snapshot
from appliance.sandbox.policy import Policy

Variables = Mapping[str, str]

_ZONES = ("UTC0", "AAA-13:45", "BBB+11", "UTC0", "CCC-5:30")
"""As POSIX writes them, so that no jail needs the database of zones."""
_LOCALES = ("C.UTF-8", "POSIX")


def several(task: Task, count: int) -> list[Variables]:
    """`count` surroundings: time zones and hash seeds, and locales where Python, which writes UTF-8 in both, is run.

    The judge sets the locale of every jail, and text tools count characters in it: there it stays.
    """
    python = task.kind in ("function", "repo") or task.settings.get("language") == "python"
    return [
        {
            "TZ": _ZONES[number % len(_ZONES)],
            "PYTHONHASHSEED": str(1 + 7919 * number),
            **({"LC_ALL": _LOCALES[number % len(_LOCALES)]} if python else {}),
        }
        for number in range(count)
    ]


class Elsewhere(Leash):
    """Opens jails whose environment says something else."""

    def __init__(self, variables: Variables) -> None:
        super().__init__()
        self._variables = variables

    def _moved(self, policy: Policy) -> Policy:
        return replace(policy, env=tuple({**dict(policy.env), **self._variables}.items()))

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Held:
        return super().open(command, self._moved(policy), files=files)

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        return super().run(command, self._moved(policy), files=files, stdin=stdin)

    def session(self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None) -> Seat:
        return super().session(self._moved(policy), start)
