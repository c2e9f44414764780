"""The jailer's sessions, images and memory: what ends with what, whom it refuses, and what it never holds."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jail_helpers import ROOT, Jailer, came, heard, leaves_of, mark, programs, serving, sleepers, tar

from appliance.errors import NotFoundError, SandboxError, UsageError
from appliance.paths import Paths
from appliance.sandbox import parcels, turns, wire
from appliance.sandbox.budget import Busy
from appliance.sandbox.changes import Entry
from appliance.sandbox.client import Jails
from appliance.sandbox.ending import JailStatus
from appliance.sandbox.images import foreign
from appliance.sandbox.images import store as images
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.remote import RemoteJails
from appliance.sandbox.stock import Stock
from appliance.sandbox.turns import Act, Turn
from appliance.sandbox.wire import Op, Opened, Outcome, Refusal, Request

pytestmark = pytest.mark.jail

LONG = Policy(Limits(wall_s=90))
MARK = mark()
ASLEEP = ["sleep", MARK]
SESSION = Request(Op.session, policy=LONG, idle_s=60)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def jailer(home: Path) -> Iterator[Jailer]:
    with serving(home, MARK) as found:
        yield found


def sessions(jailer: Jailer) -> int:
    return RemoteJails(jailer.path).status().sessions


def opened(jailer: Jailer) -> socket.socket:
    """A connection with a session."""
    line = jailer.raw()
    line.send(wire.encode_request(SESSION))
    assert isinstance(heard(line), Opened)
    return line


CLIENT = """
import sys, threading, time
from pathlib import Path
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.remote import RemoteJails
jails, policy = RemoteJails(Path(sys.argv[1])), Policy(Limits(wall_s=90))
idle, busy = jails.session(policy), jails.session(policy)
print(idle.run(["echo", "up"]).stdout, flush=True)
busy.run(["sleep", sys.argv[2]])
"""


def test_sessions_die_with_their_client_and_nobody_elses_does(jailer: Jailer) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(jailer.path), MARK], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    with client.stdout, RemoteJails(jailer.path).session(LONG) as other:
        assert client.stdout.readline() == b"b'up\\n'\n"
        assert came(lambda: sleepers(MARK))
        assert sessions(jailer) == 3
        client.send_signal(signal.SIGKILL)
        client.wait()
        assert came(lambda: not sleepers(MARK))
        assert came(lambda: sessions(jailer) == 1)
        assert other.run(["echo", "still here"]).stdout == b"still here\n"
    assert came(lambda: sessions(jailer) == 0)
    # The zygote's own stays.
    assert came(lambda: len({path.name for path in leaves_of(jailer.process.pid)}) <= 1)


def test_a_killed_jailer_takes_its_sessions_along_and_clients_are_told(home: Path) -> None:
    with serving(home, MARK) as jailer, ThreadPoolExecutor(1) as pool:
        idle, busy = (RemoteJails(jailer.path).session(LONG) for _ in range(2))
        running = pool.submit(busy.run, ASLEEP)
        assert came(lambda: sleepers(MARK))
        jailer.end(signal.SIGKILL)
        with pytest.raises(SandboxError, match="the jailer is gone"):
            running.result(20)
        for session in (idle, busy):
            assert not session.healthy()
            assert "gone" in session.broken
            with pytest.raises(SandboxError, match="broken") as caught:
                session.run(["true"])
            assert caught.value.remedy
            session.close()
        assert came(lambda: not sleepers(MARK))


def test_at_its_end_idle_sessions_go_and_commands_get_their_grace(home: Path) -> None:
    with serving(home, MARK, "--grace", "30") as jailer, ThreadPoolExecutor(1) as pool:
        idle, busy = (RemoteJails(jailer.path).session(LONG) for _ in range(2))
        running = pool.submit(busy.run, ["sh", "-c", "sleep 1; echo done"])
        assert came(lambda: busy._turn.locked())
        time.sleep(0.3)
        began = time.monotonic()
        assert jailer.end() == 0
        assert time.monotonic() - began < 15
        assert running.result(20).stdout == b"done\n"
        for session in (idle, busy):
            with pytest.raises(SandboxError, match="the jailer was stopped"):
                session.run(["true"])
            session.close()


def test_after_its_grace_a_sessions_command_is_killed(home: Path) -> None:
    with serving(home, MARK, "--grace", "0.2") as jailer, ThreadPoolExecutor(1) as pool:
        session = RemoteJails(jailer.path).session(LONG)
        running = pool.submit(session.run, ASLEEP)
        assert came(lambda: sleepers(MARK))
        assert jailer.end() == 0
        with pytest.raises(SandboxError, match="the jailer was stopped"):
            running.result(20)
        assert sleepers(MARK) == []
        assert leaves_of(jailer.process.pid) == []


def test_what_is_no_turn_ends_a_session_and_harms_nobody(jailer: Jailer) -> None:
    with RemoteJails(jailer.path).session(LONG) as other:
        whole = turns.encode(Turn(Act.do, ("true",)))
        record = json.loads(whole)
        words = [b"x", b"{}", whole[:-1], whole * 2, wire.encode_request(SESSION), b"x" * (300 << 10)]
        words += [json.dumps(record | {name: None}).encode() for name in record]
        words += [b'{"v":2,"act":"artefacts","collect":{}}', b'{"v":2,"act":"close"}']
        for word in words:
            with opened(jailer) as line:
                line.send(word)
                answer = heard(line)
                assert isinstance(answer, Refusal) and answer.kind == "usage", word[:50]
                assert heard(line) is None
        assert came(lambda: sessions(jailer) == 1)
        assert other.run(["echo", "ok"]).stdout == b"ok\n"
    assert "Traceback" not in jailer.log.read_text()


def test_a_turn_that_cannot_be_carried_out_is_refused_and_the_session_goes_on(jailer: Jailer) -> None:
    with opened(jailer) as line:
        for turn, fds in (
            (Turn(Act.do, ()), []),
            (Turn(Act.do, ("a\0b",)), []),
            (Turn(Act.do, ("cat",), stdin=5), []),
            (Turn(Act.do, ("cat",)), [parcels.seal([b"more"])]),
            (Turn(Act.do, ("cat",)), [os.open("/dev/zero", os.O_RDONLY)]),
        ):
            parcels.send(line, turns.encode(turn), fds)
            answer = heard(line)
            assert isinstance(answer, Refusal) and answer.kind == "usage", turn
            for fd in fds:
                os.close(fd)
        line.send(turns.encode(Turn(Act.stop)))
        line.send(turns.encode(Turn(Act.do, ("true",))))
        answer = heard(line)
        assert isinstance(answer, Outcome) and answer.result.status is JailStatus.ok


def test_whatever_is_said_while_a_command_runs_ends_the_session(jailer: Jailer) -> None:
    for word in (turns.encode(Turn(Act.diff)), b"noise", b""):
        with opened(jailer) as line:
            line.send(turns.encode(Turn(Act.do, tuple(ASLEEP), LONG.limits)))
            assert came(lambda: sleepers(MARK))
            if word:
                line.send(word)
            else:
                line.shutdown(socket.SHUT_WR)
            answer = heard(line)
            assert isinstance(answer, Outcome)
            assert answer.result.detail == "stopped by its caller"
            assert heard(line) is None
        assert sleepers(MARK) == []


def test_no_tree_from_a_client_leads_out_of_the_jail(jailer: Jailer, tmp_path: Path) -> None:
    up = "../" * 12
    for entries in (
        [Entry(f"{up}{tmp_path}/x", "file")],
        [Entry("l", "link", 0o777, b"/"), Entry(f"l{tmp_path}/x", "file")],
        [Entry(f"{tmp_path}/x", "file")],
    ):
        index, contents = turns.pack_tree(entries)
        body = b"".join([index, *contents])
        for cut in (body, body[:-3], index[:-1] + b" "):
            request = Request(Op.session, policy=LONG, idle_s=60, tree=True, index=len(index))
            with jailer.raw() as line:
                parcels.send(line, wire.encode_request(request), [fd := parcels.seal([cut])])
                os.close(fd)
                answer = heard(line)
                assert isinstance(answer, Refusal) and answer.kind == "usage"
    assert list(tmp_path.iterdir()) == []
    assert sessions(jailer) == 0
    assert "Traceback" not in jailer.log.read_text()


def test_many_sessions_come_and_go_and_leave_no_descriptor(jailer: Jailer) -> None:
    def one(number: int) -> bytes:
        with RemoteJails(jailer.path).session(LONG, {"n": b"%d" % number}) as session:
            session.snapshot(), session.artefacts(), session.diff(), session.reset()
            return session.run(["cat", "n"]).stdout

    def crowd(count: int) -> None:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(one, range(count))) == [b"%d" % number for number in range(count)]

    crowd(8)
    before = jailer.settled()
    crowd(40)
    assert came(lambda: jailer.descriptors() <= before)


# What there is only so much of.


def test_beyond_its_bound_of_sessions_it_says_when_to_come_back(home: Path) -> None:
    with serving(home, MARK, "--max-sessions", "1", "--max-jails", "1") as jailer:
        hasty = RemoteJails(jailer.path, patience_s=0)
        with hasty.session(LONG), ThreadPoolExecutor(1) as pool:
            with pytest.raises(SandboxError, match="all 1 sessions are in use") as caught:
                hasty.session(LONG)
            assert "--max-sessions" in caught.value.remedy
            assert hasty.run(["true"], LONG).status is JailStatus.ok, "jails have places of their own"
            waiting = pool.submit(RemoteJails(jailer.path).session, LONG)
            time.sleep(0.3)
            assert not waiting.done()
            hasty.close()
            waiting.result(30).close()


def test_what_requests_hold_in_memory_is_bounded(home: Path) -> None:
    wide = Policy(Limits(wall_s=90, output_kb=1024))
    with serving(home, MARK, "--memory-mb", "10") as jailer:
        hasty = RemoteJails(jailer.path, patience_s=0)
        with pytest.raises(UsageError, match="16 MiB of the jailer's memory, which has 10") as never:
            hasty.run(["true"], Policy(Limits(output_kb=4096)))
        assert "--memory-mb" in never.value.remedy
        with pytest.raises(UsageError, match="jailer's memory"):
            hasty.run(["cat"], LONG, stdin=bytes(9 << 20))
        talks = [hasty.open(ASLEEP, wide) for _ in range(2)]
        with jailer.raw() as line:
            line.send(wire.encode_request(Request(Op.run, ("true",), wide)))
            answer = heard(line)
        assert isinstance(answer, Refusal)
        assert (answer.kind, answer.retry_after_s is not None) == ("busy", True)
        with pytest.raises(SandboxError, match="its memory for requests is taken"):
            hasty.run(["true"], wide)
        with hasty.session(LONG) as session, ThreadPoolExecutor(1) as pool:
            with pytest.raises(SandboxError, match="its memory for requests is taken"):
                session.run(["true"], limits=wide.limits)
            assert session.run(["echo", "less"], limits=Limits(output_kb=1)).stdout == b"less\n"
            with pytest.raises(UsageError, match="jailer's memory"):
                session.artefacts()
            waiting = pool.submit(RemoteJails(jailer.path).run, ["echo", "later"], wide)
            time.sleep(0.3)
            assert not waiting.done()
            for talk in talks:
                talk.finish()
            assert waiting.result(30).stdout == b"later\n"


def test_an_index_that_would_grow_a_hundredfold_is_refused_unread(home: Path) -> None:
    index = b"[" + b"[]," * (4 << 20) + b"[]]"
    with serving(home, MARK, "--memory-mb", "100") as jailer:
        assert RemoteJails(jailer.path).run(["true"], LONG).status is JailStatus.ok
        before = peak_mib(jailer.process.pid)
        for request in (
            Request(Op.run, ("true",), LONG, index=len(index)),
            Request(Op.session, policy=LONG, index=len(index), idle_s=60, tree=True),
        ):
            with jailer.raw() as line:
                parcels.send(line, wire.encode_request(request), [fd := parcels.seal([index])])
                os.close(fd)
                answer = heard(line)
            assert isinstance(answer, Refusal) and "jailer's memory" in answer.message
        assert peak_mib(jailer.process.pid) - before < 50


def peak_mib(pid: int) -> float:
    """The most that was ever resident of a process."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("VmHWM"))


def resident_mib(pid: int) -> float:
    """Of memory that is the process's own, now."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("RssAnon"))


def test_floods_do_not_grow_it(jailer: Jailer) -> None:
    policy = Policy(Limits(wall_s=30, output_kb=64, disk_mb=64))
    with RemoteJails(jailer.path).session(policy) as session:
        session.run(["true"])
        before = resident_mib(jailer.process.pid)
        for _ in range(5):
            assert session.run(["yes"]).status is JailStatus.output
        session.run(["sh", "-c", "for n in 1 2 3; do head -c 20000000 /dev/zero >$n; done"])
        for _ in range(3):
            assert [item.name for item in session.artefacts().refused] == [b"1", b"2", b"3"]
            assert sum(len(entry.body) for entry in session.snapshot().entries) == 60_000_000
        assert resident_mib(jailer.process.pid) - before < 40


# Images.


@pytest.fixture(scope="module")
def digests(home: Path) -> dict[str, str]:
    """Two images in the jailer's store, by their names."""
    store, found = Paths(home / "data", home / "cache").images, {}
    for name in ("one", "two"):
        (home / f"{name}.tar").write_bytes(tar({**programs("sh", "cat"), "etc/motd": name.encode()}))
        found[name] = foreign.from_archive(store, home / f"{name}.tar").digest
        images.assign(store, name, found[name])
    return found


def test_images_are_chosen_by_name_and_by_digest_side_by_side(
    jailer: Jailer, digests: dict[str, str]
) -> None:
    for reference, said in (("one", b"one"), ("two", b"two"), (digests["one"], b"one"), ("one", b"one")):
        jails = RemoteJails(jailer.path, image=reference)
        assert jails.run(["cat", "/etc/motd"], LONG).stdout == said
        with jails.session(LONG) as session:
            assert session.run(["cat", "/etc/motd"]).stdout == said
        with jails.open(["sh", "-c", "cat /etc/motd >&6"], LONG) as talk:
            assert talk.receive(100, 20) == said
    assert RemoteJails(jailer.path).run(["python3", "-c", "print(1)"], LONG).stdout == b"1\n"


def test_an_image_that_is_not_there_is_said_as_by_the_direct_client(jailer: Jailer, home: Path) -> None:
    for reference in ("on", "sha256:0000", "../../etc", "\x1b[31m"):
        with pytest.raises(NotFoundError, match="no image") as remote:
            RemoteJails(jailer.path, image=reference).run(["true"], LONG)
        with pytest.raises(NotFoundError) as direct:
            Jails(Paths(home / "data", home / "cache"), image=reference).run(["true"], LONG)
        assert (remote.value.message, remote.value.remedy) == (direct.value.message, direct.value.remedy)
        with pytest.raises(NotFoundError, match="no image"):
            RemoteJails(jailer.path, image=reference).session(LONG)
    with pytest.raises(UsageError, match="no text"):
        RemoteJails(jailer.path, image="\ud800").run(["true"], LONG)


def test_only_so_many_images_are_kept_and_one_in_use_stays(home: Path, digests: dict[str, str]) -> None:
    stock = Stock(Paths(home / "data", home / "cache"), most=1)
    try:
        with stock.jails("one") as first:
            assert first.run(["cat", "/etc/motd"], LONG).stdout == b"one"
            with pytest.raises(Busy, match="1 images are in use"), stock.jails("two"):
                pass
            with stock.jails(digests["one"]) as same:
                assert same is first
        with stock.jails("two") as second:
            assert second.run(["cat", "/etc/motd"], LONG).stdout == b"two"
        with stock.jails("one") as again:
            assert again is not first
            assert again.run(["cat", "/etc/motd"], LONG).stdout == b"one"
    finally:
        stock.close()
