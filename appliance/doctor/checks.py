"""The table of checks and how they are run. A check that fails at a known boundary is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from appliance.doctor import host, jails, models
from appliance.doctor.findings import Finding, Grade, Machine, bad
from appliance.errors import ApplianceError, UsageError
from appliance.tables import nearest

CHECKS: dict[str, Callable[[Machine], Finding]] = {
    "kernel": host.kernel,
    "memory": host.memory,
    "disk": host.disk,
    "sqlite": host.sqlite,
    "user_namespaces": host.user_namespaces,
    "nsjail": jails.nsjail,
    "jail": jails.jail,
    "cgroup": jails.cgroup,
    "starter_model": models.starter,
    "llama_cpp": models.llama_cpp,
    "torch": models.torch,
}
"""Name → check, in the order in which a person would repair things."""


@dataclass(frozen=True, slots=True)
class Named:
    """One line of the report."""

    name: str
    verdict: Grade
    detail: str
    remedy: str


def chosen(names: Sequence[str]) -> list[str]:
    """The checks asked for, in table order; all of them when none is named. UsageError for an unknown one."""
    for name in names:
        if name not in CHECKS:
            raise UsageError(f"no check {name!r}", remedy=nearest(name, list(CHECKS)))
    return [name for name in CHECKS if not names or name in names]


def examine(machine: Machine, names: Sequence[str]) -> Iterator[Named]:
    """Run the checks one after the other; each line comes as soon as it is known."""
    for name in names:
        found = _find(CHECKS[name], machine)
        yield Named(name, found.verdict, found.detail, found.remedy)


def _find(check: Callable[[Machine], Finding], machine: Machine) -> Finding:
    try:
        return check(machine)
    except ApplianceError as error:
        return bad(error.message, error.remedy or "see the message")
    except OSError as error:
        return bad(f"the check itself failed: {error}", "mend what the message names and run the check again")
