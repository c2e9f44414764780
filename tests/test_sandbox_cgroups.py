"""Leaves of this host's own cgroups: limits that hold, counters, and an end that nothing outlives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jail_helpers import came, descriptors

from appliance.errors import SandboxError
from appliance.sandbox import cgroups, kernfs
from appliance.sandbox.cgroups import PREFIX, Nursery, Usage, nursery
from appliance.sandbox.leaf import OVERHEAD_MIB, OVERHEAD_PIDS, Leaf, LeafV1, LeafV2, Setting
from appliance.sandbox.policy import Limits

FOUND, WHY = nursery()
UNIFIED = cgroups._mounts(Path("/proc")).get("", (None, ""))[0]
LIMITS = Limits(memory_mb=100, pids=10)
MIB = 1 << 20

needs_cgroups = pytest.mark.skipif(FOUND is None, reason=WHY)
needs_v1 = pytest.mark.skipif(FOUND is None or FOUND.version != 1, reason="this host has no cgroup version 1")

needs_unified = pytest.mark.skipif(
    UNIFIED is None or os.geteuid() != 0 or not (UNIFIED / "cgroup.procs").exists(),
    reason="no version 2 hierarchy that is ours to use is mounted here",
)

Make = Callable[[Limits], Leaf]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes leaves, and removes them however the test ends."""
    made: list[Leaf] = []

    def leaf(limits: Limits) -> Leaf:
        assert FOUND is not None
        made.append(FOUND.leaf(limits))
        return made[-1]

    yield leaf
    left = [leaf for leaf in made if not leaf.remove()]
    assert not left


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python programs that have joined a leaf before their first line runs."""
    started: list[subprocess.Popen[bytes]] = []

    def run(joins: list[str], source: str) -> subprocess.Popen[bytes]:
        first = "import sys\nfor path in sys.argv[1:]: open(path, 'w').write('0')\nprint(flush=True)\n"
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", first + source, *joins], stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def unified() -> Iterator[LeafV2]:
    """A folder of a version 2 hierarchy, without controllers where those serve version 1."""
    leaf = LeafV2(f"{UNIFIED}/{PREFIX}-{os.getpid()}-unified")
    leaf.folders[0].mkdir()
    yield leaf
    assert leaf.remove()


def said(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.read().decode().strip()


def text(leaf: Leaf, name: str) -> str:
    """A file of whichever folder of the leaf has it."""
    return next(path for folder in leaf.folders if (path := folder / name).exists()).read_text().strip()


@needs_v1
def test_every_limit_is_in_force_on_version_1(make: Make) -> None:
    leaf = make(Limits(memory_mb=100, pids=10, cpus=0.5, cpuset="0"))
    size = (100 + OVERHEAD_MIB) * MIB
    assert int(text(leaf, "memory.limit_in_bytes")) == size
    assert int(text(leaf, "pids.max")) == 10 + OVERHEAD_PIDS
    assert int(text(leaf, "cpu.cfs_quota_us")) * 2 == int(text(leaf, "cpu.cfs_period_us"))
    assert text(leaf, "cpuset.cpus") == "0"
    if (leaf.folders[0] / "memory.memsw.limit_in_bytes").exists():
        assert int(text(leaf, "memory.memsw.limit_in_bytes")) == size


@needs_cgroups
def test_what_is_not_asked_for_costs_nothing(make: Make) -> None:
    plain, whole = make(Limits()), make(Limits(cpus=1, cpuset="0"))
    assert len(whole.folders) >= len(plain.folders)
    assert not any("cpuset" in str(folder) for folder in plain.folders)


@needs_cgroups
def test_a_tree_runs_where_its_cpuset_says(make: Make, start: Start) -> None:
    last = max(os.sched_getaffinity(0))
    leaf = make(Limits(cpuset=str(last)))
    process = start(leaf.joins, "import os; print(sorted(os.sched_getaffinity(0)))")
    assert said(process) == f"[{last}]"


@needs_cgroups
def test_a_tree_is_throttled_at_its_bandwidth(make: Make, start: Start) -> None:
    leaf = make(Limits(cpus=0.1))
    start(leaf.joins, "import os\nos.fork()\nwhile True: pass")
    assert came(lambda: "nr_throttled 0" not in text(leaf, "cpu.stat"))


@needs_cgroups
@pytest.mark.parametrize("limits", [Limits(cpuset="4000"), Limits(cpuset="0,4000-4001")])
def test_a_processor_that_is_not_there_is_refused_by_name(limits: Limits) -> None:
    assert FOUND is not None
    before = leaves()
    with pytest.raises(SandboxError, match="cannot set limit cpuset"):
        FOUND.leaf(limits)
    assert leaves() == before


@needs_v1
@pytest.mark.parametrize(("limits", "name"), [(Limits(cpus=1), "cpus"), (Limits(cpuset="0"), "cpuset")])
def test_a_controller_that_is_not_there_is_refused_by_name(limits: Limits, name: str) -> None:
    assert FOUND is not None
    poor = Nursery(1, {name: FOUND.parents[name] for name in cgroups.NEEDED_V1})
    with pytest.raises(SandboxError, match=f"cannot set limit {name}"):
        poor.leaf(limits)
    plain = poor.leaf(Limits())
    with pytest.raises(SandboxError, match=f"cannot set limit {name}"):
        plain.limit(limits)
    assert plain.remove()


@needs_v1
def test_a_limit_that_is_not_in_force_is_an_error(make: Make) -> None:
    folder = make(Limits()).folders[0]
    # Held in whole pages, so that this reads back as another number.
    with pytest.raises(SandboxError, match=r"limit memory_mb: .* holds '8192' where '8193'"):
        Setting("memory_mb", f"{folder}/memory.soft_limit_in_bytes", "8193").apply()
    with pytest.raises(SandboxError, match=r"limit pids: .*: No such file"):
        Setting("pids", f"{folder}/pids.max", "5").apply()


def test_lists_of_processors_are_compared_as_sets() -> None:
    assert kernfs.numbers("0-2,5") == {0, 1, 2, 5}
    assert Setting("cpuset", "/x/cpuset.cpus", "0,1,2").met_by("0-2")
    assert not Setting("cpuset", "/x/cpuset.cpus", "0-2").met_by("0-1")
    assert not Setting("cpus", "/cpuset/cpu.cfs_quota_us", "5000").met_by("-1")


@needs_cgroups
def test_limits_of_a_leaf_in_use_can_change_both_ways(make: Make, start: Start) -> None:
    leaf = make(Limits(memory_mb=100, pids=10, cpus=1, cpuset="0"))
    start(leaf.joins, "import time; time.sleep(60)")
    for limits in (Limits(memory_mb=50, pids=20, cpus=2), Limits(memory_mb=200, pids=5, cpuset="0")):
        leaf.limit(limits)
        file = "memory.limit_in_bytes" if isinstance(leaf, LeafV1) else "memory.max"
        assert int(text(leaf, file)) == (limits.memory_mb + OVERHEAD_MIB) * MIB
        assert int(text(leaf, "pids.max")) == limits.pids + OVERHEAD_PIDS
    if isinstance(leaf, LeafV1):
        assert text(leaf, "cpu.cfs_quota_us") == "-1"


@needs_cgroups
def test_memory_over_the_limit_is_counted_as_such(make: Make, start: Start) -> None:
    leaf = make(Limits(memory_mb=16))
    process = start(leaf.joins, "hoard = [b'x' * (1 << 20) for _ in range(200)]")
    assert process.wait(60) == -signal.SIGKILL
    usage = leaf.usage()
    assert usage.oom_kills == 1
    assert usage.met_limit
    assert usage.cpu_s > 0
    assert usage.peak_bytes is None or usage.peak_bytes > 16 * MIB


@needs_v1
def test_peak_memory_counts_from_its_reset(make: Make, start: Start) -> None:
    leaf = make(Limits(memory_mb=200))
    process = start(leaf.joins, "hoard = b'x' * (64 << 20)")
    assert process.wait(60) == 0
    before = leaf.usage().peak_bytes
    leaf.reset_peak()
    after = leaf.usage().peak_bytes
    assert before is not None and after is not None
    assert after < 32 * MIB < 64 * MIB < before


@needs_cgroups
def test_processes_over_the_limit_are_counted(make: Make, start: Start) -> None:
    leaf = make(Limits(pids=3))
    start(leaf.joins, "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert came(lambda: leaf.usage().pids_hits > 0)
    assert leaf.usage().peak_pids in (None, 3 + OVERHEAD_PIDS)


@needs_cgroups
def test_descriptors_let_another_process_join(make: Make) -> None:
    leaf = make(Limits())
    fds = leaf.open_joins()
    assert all(fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC for fd in fds)
    source = f"import os, time\nfor fd in {fds}: os.write(fd, b'0')\nprint(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-Ic", source], stdout=subprocess.PIPE, pass_fds=fds) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        for fd in fds:
            os.close(fd)
        assert leaf.pids() == [process.pid]
        leaf.kill()
        assert process.wait(10) == -signal.SIGKILL


@needs_cgroups
def test_descriptors_of_a_leaf_that_is_gone_join_nothing(make: Make) -> None:
    leaf = make(Limits())
    fds = leaf.open_joins()
    assert leaf.remove()
    for fd in fds:
        with pytest.raises(OSError):
            os.write(fd, b"0")
        os.close(fd)
    with pytest.raises(FileNotFoundError):
        leaf.open_joins()
    for count in (leaf.usage, leaf.cpu_s):
        with pytest.raises(SandboxError, match="cannot be read"):
            count()


@needs_cgroups
def test_a_fork_bomb_ends_whole(make: Make, start: Start) -> None:
    leaf = make(Limits(pids=200))
    source = "import os, signal\nfor n in range(1, 32):\n    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\n"
    start(leaf.joins, source + "while True:\n    try: os.fork() or os.setsid()\n    except OSError: pass")
    assert came(lambda: len(leaf.pids()) > 100)
    pids = leaf.pids()
    assert leaf.remove()
    assert not any(alive(pid) for pid in pids)
    assert not any(folder.exists() for folder in leaf.folders)
    assert leaf.remove(), "removing it again is no error"
    leaf.kill()


def alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in b"ZX"
    return False


@needs_v1
def test_groups_below_a_leaf_end_with_it(make: Make, start: Start) -> None:
    leaf = make(Limits())
    below = [folder / "a/b" for folder in leaf.folders]
    for folder in below:
        folder.mkdir(parents=True)
    inner = start([str(folder / "cgroup.procs") for folder in below], "import time; time.sleep(60)")
    start(leaf.joins, "import time; time.sleep(60)")
    # Frozen by itself it would stay so when the leaf thaws.
    (leaf.folders[-1] / "a/b/freezer.state").write_text("FROZEN")
    assert inner.pid in leaf.pids()
    assert leaf.remove()
    assert inner.wait(10) == -signal.SIGKILL
    assert not any(folder.exists() for folder in leaf.folders)


@needs_v1
def test_a_leaf_that_was_left_frozen_can_still_be_removed(make: Make, start: Start) -> None:
    leaf = make(Limits())
    process = start(leaf.joins, "import time; time.sleep(60)")
    (leaf.folders[-1] / "freezer.state").write_text("FROZEN")
    assert leaf.remove()
    assert process.wait(10) == -signal.SIGKILL


@needs_v1
def test_an_exception_in_a_kill_leaves_nothing_frozen(
    make: Make, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = make(Limits())
    start(leaf.joins, "import time; time.sleep(60)")

    def interrupt(pid: int, number: int) -> None:
        assert text(leaf, "freezer.state") in ("FREEZING", "FROZEN")
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "kill", interrupt)
    with pytest.raises(KeyboardInterrupt):
        leaf.kill()
    assert text(leaf, "freezer.state") == "THAWED"


@needs_v1
def test_a_process_that_has_only_begun_to_join_is_killed(make: Make, start: Start) -> None:
    leaf = make(Limits())
    process = start(leaf.joins[:1], "import time; time.sleep(60)")
    assert leaf.pids() == [process.pid]
    leaf.kill()
    assert process.wait(10) == -signal.SIGKILL


@needs_unified
def test_a_process_of_another_namespace_is_no_signal_to_our_own_group(unified: LeafV2, start: Start) -> None:
    process = start(unified.joins, "import time; time.sleep(60)")
    assert unified.pids() == [process.pid]
    source = (
        f"from appliance.sandbox.leaf import LeafV2\nleaf = LeafV2({str(unified.folders[0])!r})\n"
        "print(open(leaf.joins[0]).read().split(), leaf.pids(), flush=True)\nleaf._signal_all()\nprint('alive')"
    )
    # There it goes by the number 0, which to a kill means everything in the caller's own group.
    command = ["unshare", "--pid", "--fork", sys.executable, "-c", source]
    outcome = subprocess.run(command, capture_output=True, timeout=60, start_new_session=True)
    assert outcome.stdout.decode().split("\n")[:2] == ["['0'] []", "alive"], outcome.stderr.decode()


def leaves() -> list[str]:
    assert FOUND is not None
    return sorted(
        str(path) for parent in FOUND.parents.values() for path in parent.glob(f"{PREFIX}-{os.getpid()}-*")
    )


@needs_cgroups
def test_only_leaves_of_dead_processes_are_swept(make: Make) -> None:
    assert FOUND is not None
    mine = make(Limits())
    dead = FOUND._named(f"{PREFIX}-{os.getpid()}-1-0", tuple(FOUND.parents))
    dead.create(Limits(cpus=1, cpuset="0"))
    odd = next(iter(FOUND.parents.values())) / f"{PREFIX}-x-y-z"
    odd.mkdir()
    try:
        assert FOUND.sweep() >= 1
        assert not any(folder.exists() for folder in dead.folders)
        assert odd.exists()
        assert all(folder.exists() for folder in mine.folders)
    finally:
        odd.rmdir()


@needs_cgroups
def test_a_forked_process_names_its_own_leaves() -> None:
    assert FOUND is not None
    ours = FOUND.leaf(Limits())
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        leaf = FOUND.leaf(Limits())
        os.write(write, leaf.folders[0].name.encode())
        leaf.remove()
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 100).decode().startswith(f"{PREFIX}-{pid}-")
    assert ours.folders[0].name.startswith(f"{PREFIX}-{os.getpid()}-")
    for fd in (read, write):
        os.close(fd)
    assert ours.remove()


@needs_cgroups
def test_looking_for_cgroups_leaves_none() -> None:
    before = leaves()
    found, why = nursery()
    assert found == FOUND
    assert why == ""
    assert leaves() == before


@needs_unified
def test_version_2_kills_whole_trees_at_once(unified: LeafV2, start: Start) -> None:
    below = unified.folders[0] / "below"
    below.mkdir()
    outer = start(unified.joins, "import time; time.sleep(60)")
    inner = start([str(below / "cgroup.procs")], "import time; time.sleep(60)")
    assert unified.pids() == sorted([outer.pid, inner.pid])
    unified.kill()
    assert (outer.wait(10), inner.wait(10)) == (-signal.SIGKILL, -signal.SIGKILL)
    assert unified.cpu_s() > 0
    assert unified.remove()
    assert not unified.folders[0].exists()


def files(root: Path, **contents: str) -> Path:
    """A folder with files as a version 2 hierarchy would show them."""
    root.mkdir(parents=True, exist_ok=True)
    for name, body in contents.items():
        (root / name.replace("__", ".")).write_text(body)
    return root


def test_version_2_counters_are_read_by_name(tmp_path: Path) -> None:
    folder = files(
        tmp_path / "leaf",
        cpu__stat="usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n",
        memory__events="low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
        pids__events="max 3\n",
        pids__peak="9\n",
        memory__peak="1048576\n",
    )
    leaf = LeafV2(str(folder))
    assert leaf.usage() == Usage(1.5, 1 << 20, 1, True, 3, 9)
    for name in ("memory.peak", "pids.peak"):
        (folder / name).unlink()
    (folder / "memory.events").write_text("max 0\noom 0\noom_kill 1\n")
    usage = leaf.usage()
    assert (usage.peak_bytes, usage.peak_pids) == (None, None)
    assert not usage.met_limit
    leaf.reset_peak()


def test_a_reset_peak_is_read_through_the_file_it_was_reset_by(tmp_path: Path) -> None:
    folder = files(tmp_path / "leaf", memory__peak="1048576\n", memory__events="", cpu__stat="usage_usec 1\n")
    files(folder, pids__events="")
    leaf, before = LeafV2(str(folder)), descriptors()
    leaf.reset_peak()
    leaf.reset_peak()
    # An ordinary file keeps what was not overwritten, and is still there once it has no name.
    (folder / "memory.peak").unlink()
    assert leaf.usage().peak_bytes == 48576
    for path in folder.iterdir():
        path.unlink()
    assert leaf.remove()
    assert descriptors() == before


def test_version_2_limits_are_written_with_swap_off(tmp_path: Path) -> None:
    names = ("memory__max", "memory__swap__max", "pids__max", "cpu__max", "cpuset__cpus")
    folder = files(tmp_path / "leaf", **dict.fromkeys(names, ""), cpuset__cpus__effective="0\n")
    LeafV2(str(folder)).limit(Limits(memory_mb=100, pids=10, cpus=1.5, cpuset="0"))
    assert (folder / "memory.swap.max").read_text() == "0"
    assert int((folder / "memory.max").read_text()) == (100 + OVERHEAD_MIB) << 20
    assert int((folder / "pids.max").read_text()) == 10 + OVERHEAD_PIDS
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert (folder / "cpuset.cpus").read_text() == "0"


@pytest.mark.parametrize(
    ("missing", "limits", "name"),
    [
        ("memory.max", Limits(), "memory_mb"),
        ("pids.max", Limits(), "pids"),
        ("cpu.max", Limits(cpus=1), "cpus"),
        ("cpuset.cpus", Limits(cpuset="0"), "cpuset"),
    ],
)
def test_version_2_without_a_controller_is_refused_by_name(
    tmp_path: Path, missing: str, limits: Limits, name: str
) -> None:
    names = ("memory__max", "memory__swap__max", "pids__max", "cpu__max", "cpuset__cpus")
    folder = files(tmp_path / "leaf", **dict.fromkeys(names, ""), cpuset__cpus__effective="0\n")
    (folder / missing).unlink()
    with pytest.raises(SandboxError, match=f"cannot set limit {name}: .*{missing}"):
        LeafV2(str(folder)).limit(limits)


def test_version_2_processors_that_are_not_given_are_refused(tmp_path: Path) -> None:
    names = ("memory__max", "memory__swap__max", "pids__max", "cpuset__cpus")
    folder = files(tmp_path / "leaf", **dict.fromkeys(names, ""), cpuset__cpus__effective="0-3\n")
    with pytest.raises(SandboxError, match=r"limit cpuset: .* holds '0-3' where '1'"):
        LeafV2(str(folder)).limit(Limits(cpuset="1"))


def test_memory_that_can_leave_for_swap_is_told(tmp_path: Path) -> None:
    heading = "Filename\tType\tSize\tUsed\tPriority\n"
    swaps = tmp_path / "swaps"
    assert not kernfs.swap_is_on(str(swaps))
    swaps.write_text(heading)
    assert not kernfs.swap_is_on(str(swaps))
    swaps.write_text(heading + "/dev/vdb partition 1048576 0 -2\n")
    assert kernfs.swap_is_on(str(swaps))
    folder = files(tmp_path / "leaf", memory__max="", pids__max="")
    leaf = LeafV2(str(folder))
    leaf.limit(Limits())
    assert leaf.swap_limited is not kernfs.swap_is_on()
    files(folder, memory__max="", pids__max="", memory__swap__max="")
    leaf.limit(Limits())
    assert leaf.swap_limited


def hierarchy(tmp_path: Path, cgroup: str, mounts: str) -> Path:
    files(tmp_path / "proc/self", cgroup=cgroup, mountinfo=mounts)
    return tmp_path / "proc"


@pytest.mark.parametrize("inside", ["", f"/{cgroups.SUPERVISOR}"])
def test_a_delegated_version_2_group_moves_its_processes_aside(tmp_path: Path, inside: str) -> None:
    own = files(tmp_path / "cg/user.slice/app.service", cgroup__procs="", cgroup__subtree_control="")
    files(tmp_path / "cg", cgroup__events="populated 1\n")
    proc = hierarchy(
        tmp_path,
        f"0::/user.slice/app.service{inside}\n",
        f"30 1 0:26 / {tmp_path}/cg rw,nosuid - cgroup2 cgroup2 rw\n",
    )
    # The plain folders hold no counters, so the trial leaf cannot be accounted for and nothing is claimed.
    found, why = nursery(proc)
    assert found is None
    assert "cannot set limit memory_mb" in why
    assert "\n" not in why
    assert (own / cgroups.SUPERVISOR).is_dir()
    assert [path.name for path in own.iterdir() if path.is_dir()] == [cgroups.SUPERVISOR]


def test_a_group_mounted_in_a_container_is_found_below_its_mount() -> None:
    assert cgroups._place((Path("/sys/fs/cgroup"), "/docker/x"), "/docker/x/y") == Path("/sys/fs/cgroup/y")
    assert cgroups._place((Path("/sys/fs/cgroup/pids"), "/"), "/a/b") == Path("/sys/fs/cgroup/pids/a/b")


def test_no_hierarchy_means_a_reason_not_a_crash(tmp_path: Path) -> None:
    found, why = nursery(hierarchy(tmp_path, "", ""))
    assert found is None
    assert why == "no cgroup with memory and pids can be made: none is mounted here"
    memory_alone = hierarchy(
        tmp_path / "other", "4:memory:/\n", "30 1 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n"
    )
    assert "'pids' is not mounted here" in nursery(memory_alone)[1]
    assert nursery(tmp_path / "nowhere")[0] is None
