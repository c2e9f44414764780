"""Whatever a jail could leave behind or touch is noticed: each is done for real, by us."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.paths import Paths
from appliance.sandbox import uids
from appliance.sandbox.attacks.invariants import IPC_KEY, MARK, Baseline, Canaries, result_breaches
from appliance.sandbox.attacks.metronome import Metronome
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.client import JailResult, Jails, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.probes import CANARY, CANARY_PID, CANARY_PORT, CANARY_SOCKET

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}"),
]
NOBODY = uids.RANGES[0] + uids.COUNT - 1
"""The uid of a jail that would be the last to be leased."""


@pytest.fixture
def before() -> Baseline:
    return Baseline.take()


@pytest.fixture
def canaries() -> Iterator[Canaries]:
    with Canaries() as found:
        yield found


def said(before: Baseline) -> str:
    return "\n".join(before.breaches(patience_s=0))


def test_a_quiet_process_breaks_nothing(before: Baseline, canaries: Canaries) -> None:
    assert Baseline.take().breaches(canaries) == []
    assert not any("descriptor" in text for text in before.breaches(patience_s=0) if "canary" in text)


def test_a_descriptor_that_is_left_is_named(before: Baseline, tmp_path: Path) -> None:
    with (tmp_path / "held").open("w"):
        assert "a descriptor is left" in said(before)
        assert "held" in said(before)
    assert said(before) == ""


def test_a_thread_that_is_left_is_counted(before: Baseline) -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert said(before) == "1 threads are left"
    done.set()
    thread.join()
    assert said(before) == ""


def test_a_child_and_its_child_are_named(before: Baseline) -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 60 & wait"])
    try:
        found = before.breaches(patience_s=0.5)
        assert sum("a process is left" in text for text in found) == 2
    finally:
        subprocess.run(["pkill", "-P", str(child.pid)], check=False)
        child.wait(10)
    assert said(before) == ""


def test_a_process_with_the_uid_of_no_live_jail_is_named(before: Baseline) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to start a process under another uid")
    source = f"import os\nif os.fork(): os._exit(0)\nos.setsid(); os.setgid({NOBODY}); os.setuid({NOBODY})\n" \
             "print(os.getpid(), flush=True); os.close(1); __import__('time').sleep(60)"  # fmt: skip
    started = subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE, check=True)
    stray = int(started.stdout)
    try:
        assert f"a process is left: {stray} python" in said(before)
    finally:
        os.kill(stray, signal.SIGKILL)
    assert before.breaches() == []


def test_a_leaf_that_is_left_is_named(before: Baseline) -> None:
    found, why = nursery()
    if found is None:
        pytest.skip(why)
    leaf = found.leaf(Limits())
    assert "a cgroup is left" in said(before)
    assert leaf.remove()
    assert said(before) == ""


def test_a_mount_is_named(before: Baseline, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], check=True)
    try:
        assert re.search(f"the mount table changed: .* {tmp_path} ", said(before))
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_a_file_of_a_jail_on_the_host_is_named(before: Baseline, place: str) -> None:
    marked, owned = Path(place, f"{MARK}-\x1b[31m-{os.getpid()}"), Path(place, f"harmless-{os.getpid()}")
    marked.touch()
    owned.touch()
    try:
        if os.geteuid() == 0:
            os.chown(owned, NOBODY, NOBODY)
            assert f"a file is left: {owned}" in said(before)
        assert f"a file is left: {place}/{MARK}" in said(before)
        assert "\x1b" not in said(before)
    finally:
        marked.unlink()
        owned.unlink()
    assert said(before) == ""


def test_a_shared_memory_segment_is_named(before: Baseline) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(IPC_KEY, 4096, 0o1600)
    assert number >= 0
    try:
        assert said(before) == f"an IPC object is left: shm {number}"
    finally:
        libc.shmctl(number, 0, None)
    assert said(before) == ""


def test_memory_that_grew_is_told(before: Baseline) -> None:
    hoard = bytearray(os.urandom(1 << 20)) * 48
    assert "memory grew" in "\n".join(before.breaches(patience_s=0, rss_slack_mib=24))
    assert before.breaches(patience_s=0, rss_slack_mib=200) == []
    del hoard


def test_what_goes_by_itself_is_no_breach(before: Baseline) -> None:
    thread = threading.Thread(target=threading.Event().wait, args=(0.3,))
    thread.start()
    assert before.breaches(patience_s=10) == []
    thread.join()


def test_canaries_notice_every_contact(canaries: Canaries) -> None:
    found = canaries.variables
    assert canaries.breaches() == []
    Path(found[CANARY]).write_text("changed")
    assert canaries.breaches() == ["the canary file was changed"]
    Path(found[CANARY]).write_text("unread and unchanged")
    for family, address in (
        (socket.AF_UNIX, f"\0{found[CANARY_SOCKET]}"),
        (socket.AF_INET, ("127.0.0.1", int(found[CANARY_PORT]))),
    ):
        with socket.socket(family) as caller:
            caller.connect(address)
        assert "was contacted" in canaries.breaches()[0]
        assert canaries.breaches() == []
    os.kill(int(found[CANARY_PID]), signal.SIGKILL)
    canaries._process.wait()
    assert canaries.breaches() == ["the canary process has ended"]


def ended(status: JailStatus, peak_mib: float | None = None, out: int = 0, detail: str = "") -> JailResult:
    return JailResult(status, 0, None, 0.0, 0.0, peak_mib, bytes(out), b"", "full", detail)


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (ended(JailStatus.ok, out=1025), "output"),
        (ended(JailStatus.ok, detail="\x1b[2J"), "control"),
        (ended(JailStatus.ok, peak_mib=140), "peak"),
        (ended(JailStatus.memory, peak_mib=50), "out of memory at 50"),
    ],
)
def test_a_result_that_breaks_its_own_limits_is_told(result: JailResult, word: str) -> None:
    (found,) = result_breaches(result, Limits(memory_mb=100, output_kb=1))
    assert word in found
    assert "\x1b" not in found


def test_a_sound_result_breaks_nothing() -> None:
    limits = Limits(memory_mb=100, output_kb=1)
    assert result_breaches(ended(JailStatus.memory, peak_mib=101, out=1024), limits) == []
    assert result_breaches(ended(JailStatus.ok, peak_mib=None), limits) == []


def test_many_runs_bring_everything_back_and_a_sibling_keeps_its_beat(
    tmp_path: Path, canaries: Canaries
) -> None:
    with Jails(Paths(tmp_path / "data", tmp_path / "cache")) as jails:
        jails.run(["true"], Policy())
        before = Baseline.take()
        with Metronome(jails) as sibling:
            assert any("a process is left" in text for text in before.breaches(patience_s=0))
            for _ in range(25):
                assert jails.run(["sh", "-c", "head -c 200000 /dev/zero"], Policy()).status is JailStatus.ok
            assert sibling.take_worst_s() >= 0.02
            assert sibling.beats > 5
            assert sibling.alive
        assert before.breaches(canaries) == []


def test_a_sibling_that_is_killed_is_noticed(tmp_path: Path) -> None:
    with Jails(Paths(tmp_path / "data", tmp_path / "cache")) as jails, Metronome(jails) as sibling:
        assert sibling.alive
        jails.close()
        sibling._thread.join(20)
        assert not sibling.alive
