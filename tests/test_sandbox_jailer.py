"""The jailer as a process: what it survives, whom it refuses, what dies with what, and what the next one cleans up."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jail_helpers import ROOT, Jailer, answering, came, heard, leaves_of, mark, serving, sleepers
from jail_helpers import jailer as start_jailer

from appliance.errors import SandboxError, UsageError
from appliance.sandbox import janitor, parcels, wire
from appliance.sandbox.cgroups import birth, nursery
from appliance.sandbox.ending import CLOSED, JailStatus
from appliance.sandbox.jailer import MAX_VISITS, PATIENCE_S
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.remote import RemoteJails
from appliance.sandbox.seat import Peer, Seat, default_path, peer_of
from appliance.sandbox.wire import Op, Opened, Refusal, Request

pytestmark = pytest.mark.jail

LONG = Policy(Limits(wall_s=90))
MARK = mark()
ASLEEP = ["sleep", MARK]
STRANGER, GROUP = 60_123, 60_124

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Reachable by other users, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory(prefix="jailer-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def jailer(home: Path) -> Iterator[Jailer]:
    with serving(home, MARK) as found:
        yield found


def works(jailer: Jailer) -> bool:
    return RemoteJails(jailer.path).run(["echo", "ok"], LONG).stdout == b"ok\n"


# What dies with what.


CLIENT = """
import sys, time
from pathlib import Path
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.remote import RemoteJails
talk = RemoteJails(Path(sys.argv[1])).open(["sh", "-c", "echo up >&6; sleep " + sys.argv[2]], Policy(Limits(wall_s=90)))
print(talk.receive(10, 60), flush=True)
time.sleep(60)
"""


def test_a_jail_dies_with_its_client_and_nobody_elses_does(jailer: Jailer) -> None:
    command = [sys.executable, "-c", CLIENT, str(jailer.path), MARK]
    client = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert client.stdout is not None
    with client.stdout, RemoteJails(jailer.path).open(["sh", "-c", "read x <&5; echo $x >&6"], LONG) as other:
        assert client.stdout.readline() == b"b'up\\n'\n"
        assert came(lambda: sleepers(MARK))
        assert jailer.live == 2
        client.send_signal(signal.SIGKILL)
        client.wait()
        assert came(lambda: not sleepers(MARK))
        assert came(lambda: jailer.live == 1)
        other.send(b"still here\n")
        assert other.receive(100, 20) == b"still here\n"
    assert works(jailer)
    assert came(lambda: not leaves_of(jailer.process.pid))


def test_a_run_dies_with_its_connection(jailer: Jailer) -> None:
    jails = RemoteJails(jailer.path)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(jails.run, ASLEEP, LONG)
        assert came(lambda: sleepers(MARK))
        assert jails.live == 1
        jails.close()
        result = running.result(20)
    assert (result.status, result.detail) == (JailStatus.infra, CLOSED)
    assert came(lambda: not sleepers(MARK) and jailer.live == 0)
    assert jails.live == 0


def test_a_killed_jailer_takes_its_jails_along_and_clients_are_told(home: Path) -> None:
    with serving(home, MARK) as jailer:
        pid, jails = jailer.process.pid, RemoteJails(jailer.path)
        talk = jails.open(ASLEEP, LONG)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(jails.run, ASLEEP, LONG)
            assert came(lambda: len(sleepers(MARK)) == 2)
            jailer.end(signal.SIGKILL)
            with pytest.raises(SandboxError, match="the jailer is gone") as caught:
                running.result(20)
        assert "start it again" in caught.value.remedy
        assert talk.receive(10, 20) is None
        with pytest.raises(SandboxError, match="the jailer is gone"):
            talk.finish()
        assert came(lambda: not sleepers(MARK))
        assert came(lambda: not leaves_of(pid))
        with pytest.raises(SandboxError, match="no jailer answers") as absent:
            jails.run(["true"], LONG)
        assert "appliance jailer" in absent.value.remedy
        assert jailer.path.exists()
    with serving(home, MARK) as successor:
        assert works(successor)


def test_the_next_jailer_removes_what_a_crash_left(home: Path) -> None:
    if nursery()[0] is None:
        pytest.skip("no cgroups here")
    jailer = Jailer(home)
    pid = jailer.process.pid
    talk = RemoteJails(jailer.path).open(ASLEEP, LONG)
    assert came(lambda: sleepers(MARK))
    (spawner,) = jailer.spawners()
    os.kill(pid, signal.SIGSTOP)
    os.kill(spawner, signal.SIGKILL)
    jailer.end(signal.SIGKILL)
    with pytest.raises(SandboxError):
        talk.finish()
    assert leaves_of(pid), "the crash left nothing: this test shows nothing"
    with serving(home, MARK) as successor:
        assert leaves_of(pid) == []
        assert sleepers(MARK) == []
        assert works(successor)


def test_stages_of_dead_owners_are_swept_and_nothing_else(tmp_path: Path) -> None:
    prefix, born = janitor.STAGE_PREFIX, birth(os.getpid())
    names = ["1-1-dead", f"{os.getpid()}-1-reused", f"{os.getpid()}-{born}-living", "nameless", "x-y-z"]
    for name in names:
        (tmp_path / f"{prefix}-{name}" / "jobs").mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    (tmp_path / f"{prefix}-1-1-link").symlink_to(tmp_path / "precious")
    (tmp_path / f"{prefix}-1-1-file").touch()
    if os.geteuid() == 0:
        (tmp_path / f"{prefix}-1-1-theirs").mkdir()
        os.chown(tmp_path / f"{prefix}-1-1-theirs", STRANGER, STRANGER)
    before = {path.name for path in tmp_path.iterdir()}
    said = janitor.clean_up(tmp_path)
    gone = before - {path.name for path in tmp_path.iterdir()}
    assert gone == {f"{prefix}-1-1-dead", f"{prefix}-{os.getpid()}-1-reused"}
    assert len([line for line in said if line.startswith("removed /")]) == 2


# Its seat.


def test_a_second_jailer_is_refused_and_harms_nothing(jailer: Jailer) -> None:
    command = [sys.executable, "-m", "appliance.sandbox.jailer", "--socket", str(jailer.path)]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert second.returncode == 1
    assert "another jailer holds" in second.stderr
    assert "remedy:" in second.stderr
    assert works(jailer)


def test_only_a_dead_socket_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("precious")
    with pytest.raises(SandboxError, match="is no socket"):
        Seat(path)
    assert path.read_text() == "precious"
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(SandboxError, match="somebody already answers"):
            Seat(path)
    seat = Seat(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    seat.close()
    seat.close()
    assert not path.exists()
    with pytest.raises(SandboxError, match="too long"):
        Seat(tmp_path / ("x" * 200))


def test_a_peer_is_who_the_kernel_says() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        peer = peer_of(ours)
    assert (peer.pid, peer.uid) == (os.getpid(), os.geteuid())
    assert peer.groups == {os.getegid(), *os.getgroups()}


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"APPLIANCE_HOME": "/a", "RUNTIME_DIRECTORY": "/b"}, "/a/run/jailer.sock"),
        ({"RUNTIME_DIRECTORY": "/b", "XDG_RUNTIME_DIR": "/c"}, "/b/jailer.sock"),
        ({"XDG_RUNTIME_DIR": "/c"}, "/c/appliance/jailer.sock"),
    ],
)
def test_the_socket_has_a_place(env: dict[str, str], path: str) -> None:
    assert default_path(env) == Path(path)


def as_stranger(path: Path, groups: list[int]) -> str:
    """What happens to a user `STRANGER` in `groups` who asks for a jail."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.setgroups(groups)
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            said = str(RemoteJails(path).run(["true"], LONG).status)
        except SandboxError as error:
            said = str(error)
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as file:
        return file.read()


@root_only
def test_strangers_are_refused_by_the_file_and_by_the_jailer(home: Path) -> None:
    with serving(home, MARK, group=GROUP) as jailer:
        found = jailer.path.stat()
        assert (stat.S_IMODE(found.st_mode), found.st_gid) == (0o660, GROUP)
        assert "Permission denied" in as_stranger(jailer.path, [])
        assert as_stranger(jailer.path, [GROUP]) == "ok"
        jailer.path.chmod(0o666)
        assert f"uid {STRANGER} may not use this jailer" in as_stranger(jailer.path, [])
        assert as_stranger(jailer.path, [GROUP]) == "ok"
        assert f"refused uid {STRANGER} pid" in jailer.log.read_text()
        assert jailer.live == 0


def test_who_is_admitted(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot listen") as caught:
        Seat(tmp_path / "absent/s")
    assert "is there" in caught.value.remedy
    assert not (tmp_path / "absent").exists()
    seat = Seat(tmp_path / "s")
    group = (tmp_path / "s").stat().st_gid
    for uid, groups, admitted in [
        (0, (), True),
        (os.geteuid(), (), True),
        (STRANGER, (group,), True),
        (STRANGER, (group + 1,), False),
    ]:
        assert seat.admits(Peer(1, uid, frozenset(groups))) is admitted
    seat.close()


# What it survives.


def memory_file(body: bytes, *, sealed: bool = True, size: int | None = None) -> int:
    if sealed and size is None:
        return parcels.seal([body])
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size or len(body))
    if sealed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, parcels.SEALS)
    return fd


def nonsense() -> Iterator[bytes]:
    """Messages that are none: noise, cut ones, wrong types and shapes, and ones that are too long."""
    chance = random.Random(11)
    whole = wire.encode_request(Request(Op.run, ("true",), LONG))
    for _ in range(60):
        yield chance.randbytes(chance.randint(1, 2000))
    yield from (whole[:size] for size in range(1, len(whole), 7))
    yield from (b"[" * 150_000, b"{}", b"null", b"\0", b"9" * 10_000, whole + b"x", whole * 2)
    record = json.loads(whole)
    for name in record:
        values: tuple[object, ...] = (None, True, -1, 1e300, "x", [], {}, [[[]]], "\ud800")
        for value in values:
            yield json.dumps(record | {name: value}).encode()
    yield b"x" * (wire.MESSAGE_BYTES + 1)
    yield b"x" * (2 << 20)


def test_no_message_harms_it(jailer: Jailer) -> None:
    assert works(jailer)
    before, refused, total = jailer.settled(), 0, 0
    for body in nonsense():
        with jailer.raw() as line:
            line.send(body)
            answer = heard(line)
            total += 1
            refused += isinstance(answer, Refusal) and answer.kind == "usage"
            assert not isinstance(answer, Opened | wire.State)
    # A few are sound, such as one with a policy that is changed to itself.
    assert refused >= total - 5
    assert came(lambda: jailer.descriptors() == before)
    assert jailer.live == 0
    assert "Traceback" not in jailer.log.read_text()
    assert works(jailer)


def test_no_descriptor_harms_it(jailer: Jailer) -> None:
    assert works(jailer)
    before = jailer.settled()
    message = wire.encode_request(Request(Op.run, ("true",), LONG, index=2, stdin=3))
    read, write = os.pipe()
    parcels_ = {
        "a pipe": [read],
        "a terminal's worth": [read, write, read, write],
        "a flood": [read] * 250,
        "an open file": [memory_file(b"[]abc", sealed=False)],
        "a short one": [memory_file(b"[]")],
        "a long one": [memory_file(b"[]abcdef")],
        "a vast one": [memory_file(b"", size=1 << 40)],
        "no index": [memory_file(b"abcde")],
        "nothing": [],
    }
    for name, fds in parcels_.items():
        with jailer.raw() as line:
            parcels.send(line, message, fds)
            answer = heard(line)
            assert isinstance(answer, Refusal), name
            assert answer.kind == "usage", (name, answer)
    for fd in {fd for fds in parcels_.values() for fd in fds} | {read, write}:
        os.close(fd)
    assert came(lambda: jailer.descriptors() == before)
    with jailer.raw() as line:
        parcels.send(line, message, [fd := memory_file(b"[]abc")])
        os.close(fd)
        assert isinstance(heard(line), wire.Outcome)
    assert "Traceback" not in jailer.log.read_text()


def test_connections_that_ask_nothing_are_dropped_and_in_nobodys_way(jailer: Jailer) -> None:
    assert works(jailer)
    before = jailer.settled()
    lines = [jailer.raw() for _ in range(MAX_VISITS + 50)]
    answer = heard(lines[-1])
    assert isinstance(answer, Refusal) and answer.retry_after_s
    for line in lines[:100]:
        line.close()
    assert came(lambda: works(jailer))
    began = time.monotonic()
    assert heard(lines[100]) is None, "dropped without a word"
    assert time.monotonic() - began < 4 * PATIENCE_S
    for line in lines:
        line.close()
    assert came(lambda: jailer.descriptors() == before)


def test_a_client_that_never_listens_costs_a_jail_and_no_more(jailer: Jailer) -> None:
    request = Request(Op.run, ("head", "-c", "200000", "/dev/zero"), LONG)
    with jailer.raw() as deaf:
        deaf.send(wire.encode_request(request))
        assert came(lambda: "ok in" in jailer.log.read_text())
        assert came(lambda: jailer.live == 0)
        assert works(jailer)
        assert isinstance(heard(deaf), wire.Outcome)
        assert heard(deaf) is None


def test_what_comes_after_a_request_ends_its_jail(jailer: Jailer) -> None:
    with jailer.raw() as line:
        line.send(wire.encode_request(Request(Op.run, tuple(ASLEEP), LONG)))
        assert came(lambda: sleepers(MARK))
        line.send(b"anything")
        answer = heard(line)
        assert isinstance(answer, wire.Outcome)
        assert answer.result.detail == "stopped by its caller"
    with jailer.raw() as line:
        line.send(wire.encode_request(Request(Op.open, tuple(ASLEEP), LONG)))
        assert isinstance(heard(line), Opened)
        line.shutdown(socket.SHUT_WR)
        assert isinstance(heard(line), wire.Outcome)
    assert sleepers(MARK) == []


def test_ping_and_status_are_answered(jailer: Jailer) -> None:
    with jailer.raw() as line:
        line.send(wire.encode_request(Request(Op.ping)))
        assert heard(line) == wire.Pong()
        assert heard(line) is None
    assert RemoteJails(jailer.path).status() == wire.State(jailer.process.pid, 0, 64, 0, 256)


def test_a_lost_launcher_is_infra_and_the_next_jail_works(jailer: Jailer) -> None:
    with RemoteJails(jailer.path).open(ASLEEP, LONG) as talk:
        assert came(lambda: sleepers(MARK))
        (spawner,) = jailer.spawners()
        os.kill(spawner, signal.SIGKILL)
        assert talk.receive(10, 20) is None
        result = talk.finish()
    assert (result.status, result.detail) == (JailStatus.infra, "the jail launcher died")
    assert works(jailer)


# Its bound and its end.


def test_beyond_its_bound_it_says_when_to_come_back(home: Path) -> None:
    with serving(home, MARK, "--max-jails", "2") as jailer:
        hasty = RemoteJails(jailer.path, patience_s=0)
        talks = [hasty.open(ASLEEP, LONG) for _ in range(2)]
        with jailer.raw() as line:
            line.send(wire.encode_request(Request(Op.run, ("true",), LONG)))
            answer = heard(line)
        assert isinstance(answer, Refusal)
        assert (answer.kind, answer.retry_after_s is not None) == ("busy", True)
        with pytest.raises(SandboxError, match="all 2 jails are in use") as caught:
            hasty.run(["true"], LONG)
        assert "--max-jails" in caught.value.remedy
        assert jailer.live == 2
        with ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(RemoteJails(jailer.path).run, ["true"], LONG) for _ in range(8)]
            time.sleep(0.3)
            assert not any(one.done() for one in waiting)
            for talk in talks:
                talk.finish()
            assert [one.result(60).status for one in waiting] == [JailStatus.ok] * 8


def test_at_its_end_jails_get_their_grace(home: Path) -> None:
    with serving(home, MARK, "--grace", "30") as jailer, ThreadPoolExecutor(1) as pool:
        running = pool.submit(RemoteJails(jailer.path).run, ["sh", "-c", "sleep 1; echo done"], LONG)
        assert came(lambda: jailer.live == 1)
        assert jailer.end() == 0
        assert running.result(20).stdout == b"done\n"
        assert not jailer.path.exists()


def test_after_its_grace_jails_are_killed_and_clients_are_told(home: Path) -> None:
    with serving(home, MARK, "--grace", "0.2") as jailer, ThreadPoolExecutor(1) as pool:
        pid, jails = jailer.process.pid, RemoteJails(jailer.path)
        talk, idle = jails.open(ASLEEP, LONG), jailer.raw()
        running = pool.submit(jails.run, ASLEEP, LONG)
        assert came(lambda: len(sleepers(MARK)) == 2)
        assert jailer.end() == 0
        with pytest.raises(SandboxError, match="the jailer was stopped"):
            running.result(20)
        with pytest.raises(SandboxError, match="the jailer was stopped"):
            talk.finish()
        assert heard(idle) is None
        idle.close()
        assert sleepers(MARK) == []
        assert leaves_of(pid) == []


def test_a_log_that_nobody_reads_is_no_reason_to_end(home: Path) -> None:
    read, write = os.pipe()
    path = home / "unread.sock"
    with start_jailer(home, path, stderr=write) as process:
        os.close(write)
        try:
            assert came(lambda: answering(path) == process.pid, 120)
            os.close(read)
            assert RemoteJails(path).run(["echo", "ok"], LONG).stdout == b"ok\n"
            assert answering(path) == process.pid
        finally:
            process.terminate()
    assert process.returncode == 0


@pytest.mark.parametrize(
    "options", [["--max-jails", "0"], ["--max-jails", "x"], ["--grace", "nan"], ["more"]]
)
def test_wrong_arguments_are_said(options: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "appliance.sandbox.jailer", "--socket", str(tmp_path / "s"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert options[-1] in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_it_too(jailer: Jailer) -> None:
    assert jailer.end(signal.SIGINT) == 0


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told(home: Path, abstract: bool) -> None:
    name = f"\0jailer-test-{os.getpid()}" if abstract else str(home / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name)
        systemd.settimeout(60)
        with serving(home, MARK, NOTIFY_SOCKET=name.replace("\0", "@")) as jailer:
            assert systemd.recv(100) == b"READY=1"
            assert jailer.end() == 0
            assert systemd.recv(100) == b"STOPPING=1"


def test_the_command_line_serves_where_it_should(home: Path) -> None:
    folder = home / "own"
    shutil.copytree(home / "cache", folder / "cache", symlinks=True)
    code = "from appliance.cli.jailer import command; command()"
    environment = {**os.environ, "APPLIANCE_HOME": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--max-jails", "3"], cwd=ROOT, env=environment, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        path = folder / "run/jailer.sock"
        assert f"serving {path}, at most 3 jails".encode() in process.stderr.readline()
        assert RemoteJails(path).run(["echo", "ok"], LONG).stdout == b"ok\n"
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stderr.close()


def test_what_a_client_writes_is_no_harm_to_the_log(jailer: Jailer) -> None:
    with jailer.raw() as line:
        line.send(b'{"v":2,"op":"\\u001b[31m\\u202e\\nforged line"}')
        assert isinstance(heard(line), Refusal)
    assert came(lambda: "refused uid" in jailer.log.read_text())
    log = jailer.log.read_text()
    assert "\x1b" not in log and "\u202e" not in log
    assert not any(line.startswith("forged") for line in log.splitlines())


def test_a_policy_that_is_refused_here_is_refused_there(jailer: Jailer) -> None:
    record = json.loads(wire.encode_request(Request(Op.run, ("true",), LONG)))
    record["policy"]["limits"]["memory_mb"] = 0
    with jailer.raw() as line:
        line.send(json.dumps(record).encode())
        answer = heard(line)
    assert isinstance(answer, Refusal)
    with pytest.raises(UsageError, match="limit memory_mb = 0 is not between"):
        answer.raised()
