"""Every probe in a real jail: the status it must end in, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.paths import Paths
from appliance.sandbox import uids
from appliance.sandbox.cgroups import PREFIX
from appliance.sandbox.client import JailResult, Jails
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Policy
from appliance.sandbox.probes import CANARY, GREEDY, PROBES, PRYING, Probe, run_probe

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}"),
]

UNTOLD_WITHOUT_CGROUP = {"exit", "signal", "timeout_wall", "timeout_cpu", "ok"}


@pytest.fixture(scope="module")
def jails(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jails]:
    home = tmp_path_factory.mktemp("home")
    with Jails(Paths(home / "data", home / "cache")) as found:
        found.run(["true"], Policy())
        yield found


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("canary") / "secret"
    path.write_text("unread and unchanged")
    return path


def own_processes() -> list[str]:
    """Processes in a leaf of ours; and any that lives on under a jail's uid that nobody holds."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{PREFIX}-{os.getpid()}-" in (folder / "cgroup").read_text():
                found.append(f"{folder.name} in a leaf")
            if uids.RANGES[0] <= folder.stat().st_uid < uids.RANGES[0] + uids.COUNT and is_unleased(folder):
                found.append(f"{folder.name} with uid {folder.stat().st_uid}")
    return found


def is_unleased(process: Path) -> bool:
    """Whether its uid is nobody's: other runs on this host have jails too, and hold theirs."""
    holder = uids.Identities()
    try:
        index = process.stat().st_uid - uids.RANGES[0]
        # Without memory it runs nothing any more: the kernel is putting it away.
        return holder._try_lock(index, 1) and (process / "cmdline").read_bytes() != b""
    finally:
        holder.close()


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir()) if Path(folder).exists() else []


def traces() -> dict[str, object]:
    """What a jail may not change on the host or in this process."""
    leaves = [str(path) for path in Path("/sys/fs/cgroup").rglob(f"{PREFIX}-{os.getpid()}-*")]
    return {
        "leaves": leaves,
        "processes": own_processes(),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "descriptors": names("/proc/self/fd"),
        "threads": threading.active_count(),
        "run": names("/run/user"),
    }


def test_names_are_unique_and_both_kinds_are_there() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES)
    assert len(GREEDY) >= 20
    assert len(PRYING) >= 10


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_probe_ends_as_expected_and_leaves_nothing(jails: Jails, canary: Path, probe: Probe) -> None:
    before = traces()
    result = run_probe(jails, probe, {CANARY: str(canary)} if probe in PRYING else None)
    assert traces() == before
    assert canary.read_text() == "unread and unchanged"
    check(result, probe)


def check(result: JailResult, probe: Probe) -> None:
    shown = f"{result.status} {result.detail}\n{result.stdout[-800:]!r}\n{result.stderr[-800:]!r}"
    limits = probe.limits
    if result.limits == "reduced" and probe.expected in ("memory", "processes", "timeout_cpu"):
        assert result.status in {*UNTOLD_WITHOUT_CGROUP, probe.expected}, shown
    else:
        assert result.status is probe.expected, shown
    assert len(result.stdout) <= limits.output_kb * 1024
    assert len(result.stderr) <= limits.output_kb * 1024
    if result.peak_mib is not None:
        assert result.peak_mib <= limits.memory_mb + 16
