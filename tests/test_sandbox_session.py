"""Sessions: many commands over one /work, what changed, back to the beginning, and how a session ends."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import VARIANTS, came, leaves_of, mark, sleepers

from appliance.errors import SandboxError, UsageError
from appliance.sandbox import changes
from appliance.sandbox.artefacts import CollectLimits
from appliance.sandbox.changes import Change, Entry, Snapshot
from appliance.sandbox.ending import CLOSED, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Limits, Policy

POLICY = Policy(Limits(wall_s=20, cpu_s=10, disk_mb=4, inodes=256))
START = {"a/deep.txt": b"old\n", "run.sh": b"#!/bin/sh\necho ran $1\n", "gone": b"x"}
QUICK = Limits(wall_s=0.4, cpu_s=5)
MARK = mark()

jail = pytest.mark.jail
needs_jails = pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=["direct", "remote"])
def jails(request: pytest.FixtureRequest, home: Path) -> Iterator[Any]:
    """Whoever serves it, a session is the same."""
    with VARIANTS[request.param](home) as found:
        yield found


@pytest.fixture
def session(jails: Any) -> Iterator[Any]:
    with jails.session(POLICY, START) as found:
        yield found


def out(session: Any, script: str) -> str:
    result = session.run(["sh", "-c", script])
    assert result.status is JailStatus.ok, (result.status, result.detail, result.stderr)
    return result.stdout.decode()


@jail
@needs_jails
def test_commands_build_on_each_other(session: Any) -> None:
    assert out(session, "cat a/deep.txt; ./run.sh 5") == "old\nran 5\n"
    out(session, "echo more >> a/deep.txt; chmod 600 run.sh; mkdir n; echo 1 > n/f")
    assert out(session, "cat a/deep.txt n/f") == "old\nmore\n1\n"
    assert session.run(["python3", "-c", "print(open('n/f').read())"]).stdout == b"1\n\n"


@jail
@needs_jails
def test_each_command_has_its_own_limits_and_input(session: Any) -> None:
    assert session.run(["sleep", "9"], limits=QUICK).status is JailStatus.timeout_wall
    assert session.run(["cat"], stdin=b"one").stdout == b"one"
    assert session.run(["cat"], stdin=b"2").stdout == b"2"
    assert session.run(["cat"]).stdout == b""
    hog = ["python3", "-c", "x = b'x' * (100 << 20)"]
    assert session.run(hog, limits=Limits(memory_mb=48)).status is JailStatus.memory
    assert session.run(hog, limits=Limits(memory_mb=256)).status is JailStatus.ok
    burn = session.run(["python3", "-c", "while True: pass"], limits=Limits(cpu_s=0.4))
    assert burn.status is JailStatus.timeout_cpu
    after = session.run(["true"])
    assert after.cpu_s < burn.cpu_s
    assert session.run(["yes"], limits=Limits(output_kb=8)).status is JailStatus.output
    assert session.run(["echo", "clean"]).stdout == b"clean\n"


@jail
@needs_jails
def test_a_command_takes_all_it_started_with_it(session: Any) -> None:
    out(session, "setsid sleep 60 & python3 -c 'import time; time.sleep(60)' & echo started")
    assert out(session, "ls /proc | grep -c '^[0-9]'").strip() in ("3", "4", "5")
    result = session.run(["sh", "-c", "trap '' TERM INT HUP; kill -9 -1; sleep 1; exit 0"])
    assert result.status in (JailStatus.ok, JailStatus.exit)
    assert session.healthy()


@jail
@needs_jails
def test_what_changed_is_told_kept_and_undone(jails: Any, session: Any) -> None:
    assert session.diff().changes == ()
    out(
        session,
        "echo new > a/deep.txt; rm gone; ln -s /etc/passwd link; mkdir -p n/m; echo 1 > n/m/f",
    )
    out(session, "rm -r a; mkdir a; echo other > a/other; chmod 700 run.sh")
    assert list(session.diff().changes) == [
        Change("a/deep.txt", "deleted", "file"),
        Change("a/other", "added", "file"),
        Change("gone", "deleted", "file"),
        Change("link", "added", "link"),
        Change("n", "added", "folder"),
        Change("n/m", "added", "folder"),
        Change("n/m/f", "added", "file"),
        Change("run.sh", "changed", "file"),
    ]
    kept = session.snapshot()
    assert session.snapshot().digest == kept.digest
    session.reset()
    assert session.diff().changes == ()
    assert out(session, "cat a/deep.txt; ls -A") == "old\na\ngone\nrun.sh\n"
    with jails.session(POLICY, kept) as other:
        assert other.snapshot().digest == kept.digest
        assert out(other, "cat a/* n/m/f; readlink link; stat -c %a run.sh") == "other\n1\n/etc/passwd\n700\n"
        out(other, "echo 2 > n/m/f")
        assert other.diff().changes == (Change("n/m/f", "changed", "file"),)


@jail
@needs_jails
def test_a_hostile_tree_is_only_read(session: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host")
    script = f"""
import os
os.symlink({str(secret)!r}, "link"); os.symlink("/", "root");
import socket
socket.socket(1).bind("socket")
os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 1 << 20)
open(b"bad\\xff\\nname\\x1b[2J", "w").close(); os.link("sparse", "hard")
os.mkdir("locked"); open("locked/in", "w").close(); os.chmod("locked", 0)
"""
    assert session.run(["python3", "-c", script]).status is JailStatus.ok
    collected = session.artefacts()
    assert collected.files[b"bad\xff\nname\x1b[2J"] == b""
    assert b"host" not in collected.files.values()
    refused = {item.name: item.reason for item in collected.refused}
    assert {b"link", b"root", b"socket", b"hard", b"sparse"} <= refused.keys()
    entries = {entry.path: entry for entry in session.snapshot().entries} if os.geteuid() == 0 else {}
    if entries:
        assert entries["link"].kind == "link"
        assert "socket" not in entries
        assert not [path for path in entries if path.startswith(("root/", "link/"))]
        assert b"host" not in {entry.body for entry in entries.values()}


LEFT = {
    "sparse": (
        "for n in range(9): os.truncate(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY), 3 << 20)",
        b"f1",
        "sparse",
    ),
    "hard links": (
        "open('f0', 'wb').write(bytes(3 << 20)); [os.link('f0', f'g{n}') for n in range(5)]",
        b"g0",
        "hard link",
    ),
    "deep": ("for n in range(80): os.mkdir('d'); os.chdir('d')", b"/".join([b"d"] * 65), "too deep"),
    "long": (
        "for n in range(25): os.mkdir('d' * 250); os.chdir('d' * 250)\nopen('end', 'w').write('end')",
        b"",
        "",
    ),
    "shut": ("os.mkdir('s'); open('s/f', 'w'); open('z', 'w'); os.chmod('z', 0); os.chmod('s', 0)", b"", ""),
    "read-only": ("os.mkdir('s'); open('s/f', 'w'); os.chmod('s', 0o500)", b"", ""),
}


@jail
@needs_jails
@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_be_kept_is_refused_by_name(jails: Any, session: Any, name: str) -> None:
    script, first, reason = LEFT[name]
    assert session.run(["python3", "-c", f"import os\n{script}"]).status is JailStatus.ok
    diff, kept = session.diff(), session.snapshot()
    assert not diff.truncated and not kept.truncated
    assert diff.changes and {change.what for change in diff.changes} == {"added"}
    assert {item.name: item.reason for item in kept.refused}.get(first, "") == reason
    assert diff.refused == kept.refused
    with jails.session(POLICY, kept) as other:
        assert other.snapshot().digest == kept.digest
        if name == "long":
            down = "import os\nfor n in range(25): os.chdir('d' * 250)\nprint(open('end').read())"
            assert other.run(["python3", "-c", down]).stdout == b"end\n"
    assert out(session, "echo goes on") == "goes on\n"


def test_what_a_user_may_not_read_is_refused_and_too_many_names_are_said(tmp_path: Path) -> None:
    """Read as an ordinary user, whatever this process is."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut/in").touch()
    (tmp_path / "unsearchable").mkdir()
    (tmp_path / "unsearchable/in").touch()
    for name in ("file", "good", "base"):
        (tmp_path / name).write_text(name)
    for name, mode in (("shut", 0), ("file", 0), ("unsearchable", 0o400)):
        (tmp_path / name).chmod(mode)
    tmp_path.chmod(0o755)
    upper = os.open(tmp_path, os.O_RDONLY)
    if os.geteuid() == 0:
        for path in [tmp_path, *tmp_path.iterdir()]:
            os.chown(path, 4321, 4321)
    reading, write = os.pipe()
    if not (pid := os.fork()):
        if os.geteuid() == 0:
            os.setresuid(4321, 4321, 4321)
        found = changes.read(upper, 1 << 20)
        names = sorted(os.fsdecode(item.name) for item in found.refused if item.reason == "unreadable")
        os.write(
            write, " ".join(names + [entry.path for entry in found.entries if not entry.refused]).encode()
        )
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 4096).decode() == "file shut unsearchable/in base good unsearchable"
    for fd in (upper, reading, write):
        os.close(fd)
    (tmp_path / "unsearchable").chmod(0o700)
    (tmp_path / "shut").chmod(0o700)
    many = tmp_path / "good.d"
    many.mkdir()
    for number in range(changes.MAX_ENTRIES + 1):
        (many / f"{number}").symlink_to("x")
    upper = os.open(tmp_path, os.O_RDONLY)
    found = changes.read(upper, 1 << 20)
    os.close(upper)
    assert found.truncated.startswith("more than 20000 names")
    assert "good" in {entry.path for entry in found.entries}


def test_a_tree_that_is_too_much_is_kept_as_far_as_it_goes() -> None:
    body = bytes(1 << 20)
    tree = {f"{number:03}": Entry(f"{number:03}", "file", 0o644, body) for number in range(258)}
    kept = changes.keep(tree)
    assert [item.name for item in kept.refused] == [b"256", b"257"]
    assert len(kept.entries) == 256
    few = {f"d{number}": Entry(f"d{number}", "folder") for number in range(changes.MAX_TREE_ENTRIES + 1)}
    assert len(changes.keep(few).entries) == changes.MAX_TREE_ENTRIES
    assert changes.keep(few).truncated.startswith("more than")


def test_many_changes_apply_in_time() -> None:
    base = {f"d{n}": Entry(f"d{n}", "folder") for n in range(20_000)}
    begun = time.process_time()
    assert changes.apply(base, [Entry(path, "deleted") for path in base]) == {}
    assert time.process_time() - begun < 10


@jail
@needs_jails
def test_the_disk_is_the_sessions_and_full_is_full(session: Any) -> None:
    assert session.run(["dd", "if=/dev/zero", "of=big", "bs=1M", "count=9"]).status is JailStatus.disk
    assert session.run(["sh", "-c", "rm big; echo ok"]).stdout == b"ok\n"


@jail
@needs_jails
def test_what_was_full_before_is_no_cause(session: Any) -> None:
    filled = session.run(["sh", "-c", "n=0; while touch $n; do n=$((n + 1)); done; exit 1"])
    assert filled.status is JailStatus.disk
    assert session.run(["sh", "-c", "exit 3"]).status is JailStatus.exit
    assert session.run(["sh", "-c", "kill -ABRT $$"]).signal == signal.SIGABRT


@jail
@needs_jails
def test_what_a_program_dies_of_goes_before_what_it_filled(session: Any) -> None:
    fill = "import os\ntry: open('/tmp/x', 'wb').write(bytes(9 << 20))\nexcept OSError: os.abort()"
    result = session.run(["python3", "-c", fill])
    assert (result.status, result.signal) == (JailStatus.signal, signal.SIGABRT)


@jail
@needs_jails
def test_less_memory_than_the_session_holds_is_its_own_doing(jails: Any) -> None:
    with jails.session(Policy(Limits(wall_s=20, disk_mb=64)), START) as session:
        first = session.run(["head", "-c", "60000000", "/dev/zero"], limits=Limits(output_kb=1))
        assert session.run(["sh", "-c", "head -c 60000000 /dev/zero > big"]).status is JailStatus.ok
        result = session.run(["true"], limits=Limits(memory_mb=32))
        if result.limits == "reduced":
            pytest.skip("needs a cgroup")
        assert (result.status, result.exit_code) == (JailStatus.memory, None)
        assert "exceeds the limit of 32 MiB" in result.detail
        assert session.healthy()
        assert out(session, "rm big; echo on") == "on\n"
        assert session.run(["true"], limits=Limits(memory_mb=32)).status is JailStatus.ok
        assert first.status is JailStatus.output


@jail
@needs_jails
def test_an_idle_session_ends_and_says_so(jails: Any) -> None:
    with jails.session(POLICY, START, idle_s=0.3) as session:
        assert out(session, "echo hi") == "hi\n"
        time.sleep(1)
        assert not session.healthy()
        with pytest.raises(SandboxError, match="broken"):
            session.run(["true"])
        session.reset()
        assert out(session, "cat gone") == "x"


@jail
@needs_jails
def test_a_command_can_be_stopped_from_another_thread(session: Any) -> None:
    timer = threading.Timer(0.5, session.stop)
    timer.start()
    result = session.run(["sleep", "15"])
    timer.join()
    assert (result.status, result.detail) == (JailStatus.signal, "stopped by its caller")
    assert out(session, "echo next") == "next\n"


@jail
@needs_jails
def test_a_session_that_lost_its_jail_is_broken_until_reset(session: Any) -> None:
    assert out(session, "echo 1 > kept; echo up") == "up\n"
    assert session.broken == ""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.run, ["sleep", MARK])
        assert came(lambda: sleepers(MARK))
        init = int(Path(f"/proc/{sleepers(MARK)[0]}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(init, signal.SIGKILL)
        assert running.result(20).status in (JailStatus.signal, JailStatus.infra)
    assert not session.healthy()
    assert session.broken
    with pytest.raises(SandboxError, match="broken"):
        session.diff()
    with pytest.raises(SandboxError, match="broken"):
        session.run(["true"])
    session.reset()
    assert session.broken == ""
    assert out(session, "ls kept 2>&1 | grep -c 'No such'") == "1\n"


@jail
@needs_jails
def test_a_stop_that_finds_no_command_stops_none(session: Any) -> None:
    session.stop()
    assert out(session, "sleep 0.2; echo whole") == "whole\n"
    timer = threading.Timer(0.2, session.stop)
    timer.start()
    assert session.run(["sleep", "15"]).detail == "stopped by its caller"
    session.stop()
    assert out(session, "echo next") == "next\n"


@jail
@needs_jails
def test_closing_a_session_stops_its_command_and_leaves_nothing(jails: Any) -> None:
    session = jails.session(POLICY)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.run, ["sleep", MARK])
        assert came(lambda: sleepers(MARK))
        session.close()
        assert running.result(20).detail == "stopped by its caller"
    assert sleepers(MARK) == []
    assert came(lambda: jails.live == 0)


@jail
@needs_jails
def test_much_goes_in_and_out(jails: Any) -> None:
    body = os.urandom(1 << 20) * 3
    policy = Policy(Limits(wall_s=20, disk_mb=16, output_kb=4096))
    with jails.session(policy, {"in": body, os.fsdecode(b"odd-\xff"): b"x"}) as session:
        assert session.run(["cat", "in"]).stdout == body
        assert session.run(["tee", "out"], stdin=body).stdout == body
        assert session.run(["sh", "-c", "cat <in >&2; printf '\\377'"]).stderr == body
        collected = session.artefacts()
        assert dict(collected.files) == {b"out": body}
        few = session.artefacts(CollectLimits(file_bytes=1000))
        assert [item.name for item in few.refused] == [b"out"]
        assert session.artefacts(CollectLimits(entries=1)).truncated == collected.truncated == ""
        out(session, "touch a b c")
        assert session.artefacts(CollectLimits(entries=1)).truncated
        kept = session.snapshot()
    with jails.session(policy, kept) as other:
        assert other.run(["cat", "out"]).stdout == body
        assert other.snapshot() == kept


@jail
@needs_jails
def test_what_no_session_can_run_is_said_and_the_session_goes_on(jails: Any, session: Any) -> None:
    for command in ([], "true", ["a\0b"], ["\ud800"], ["x" * 100_000]):
        with pytest.raises(UsageError):
            session.run(command)
    with pytest.raises(UsageError, match="64 MiB of stdin"):
        session.run(["cat"], stdin=bytes((64 << 20) + 1))
    assert out(session, "echo goes on") == "goes on\n"
    for start in ({"../x": b""}, {"a": b"", "a/b": b""}, {"\ud800": b""}):
        with pytest.raises(UsageError):
            jails.session(POLICY, start)
    for idle_s in (0, -1, 1e9, float("nan"), True, "5"):
        with pytest.raises(UsageError, match="idle_s"):
            jails.session(POLICY, idle_s=idle_s)


@jail
@needs_jails
@pytest.mark.parametrize("variant", ["direct", "remote"])
def test_a_closed_client_ends_its_sessions(variant: str, home: Path) -> None:
    with VARIANTS[variant](home) as jails, ThreadPoolExecutor(1) as pool:
        idle, busy = jails.session(POLICY), jails.session(POLICY)
        running = pool.submit(busy.run, ["sh", "-c", f"echo partial; sleep {MARK}"])
        assert came(lambda: sleepers(MARK))
        jails.close()
        result = running.result(20)
        assert (result.status, result.detail) == (JailStatus.infra, CLOSED)
        assert (result.stdout, result.exit_code, result.signal) == (b"partial\n", None, None)
        assert sleepers(MARK) == []
        for session in (idle, busy):
            assert not session.healthy()
            with pytest.raises(UsageError, match="its client was closed"):
                session.run(["true"])
        assert leaves_of(os.getpid()) == []
        assert jails.live == 0


@jail
@needs_jails
def test_a_closed_session_says_so(jails: Any) -> None:
    session = jails.session(POLICY)
    session.close()
    session.close()
    assert not session.healthy()
    for call in (lambda: session.run(["true"]), session.reset, session.diff):
        with pytest.raises(UsageError, match="closed"):
            call()


@jail
@needs_jails
def test_many_sessions_keep_apart(jails: Any) -> None:
    def count(number: int) -> list[bytes]:
        with jails.session(POLICY, {"n": b"%d\n" % number}) as session:
            step = ["sh", "-c", "read n < n; echo $((n + 1)) > n; cat n"]
            return [session.run(step).stdout for _ in range(3)]

    with ThreadPoolExecutor(8) as crowd:
        for number, found in enumerate(crowd.map(count, range(24))):
            assert found == [b"%d\n" % (number + step) for step in (1, 2, 3)]


HOSTILE: dict[str, list[Entry]] = {
    "above": [Entry("../x", "file")],
    "absolute": [Entry("/etc/x", "file")],
    "hidden": [Entry("a", "folder"), Entry("a/../../x", "file")],
    "through a link": [Entry("l", "link", 0o777, b"/"), Entry("l/x", "file")],
    "in a file": [Entry("f", "file"), Entry("f/x", "file")],
    "in nothing": [Entry("a/b", "file")],
    "twice": [Entry("a", "file"), Entry("a", "link", 0o777, b"/etc")],
    "special": [Entry("pipe", "special")],
    "deleted": [Entry("gone", "deleted")],
    "empty": [Entry("", "folder")],
    "NUL": [Entry("a\0b", "file")],
    "no text": [Entry("\ud800", "file")],
    "nowhere": [Entry("l", "link", 0o777, b"")],
    "far": [Entry("l", "link", 0o777, b"x" * 5000)],
    "long": [Entry("x" * 256, "file")],
    "deep": [Entry("/".join(["d"] * depth), "folder") for depth in range(1, 80)],
}


@jail
@needs_jails
@pytest.mark.parametrize("name", HOSTILE)
def test_a_snapshot_that_would_lead_elsewhere_is_refused(jails: Any, name: str) -> None:
    with pytest.raises(UsageError, match="a snapshot"):
        jails.session(POLICY, Snapshot("sha256:0", tuple(HOSTILE[name])))


def test_too_much_is_no_tree() -> None:
    body = bytes(1 << 20)
    with pytest.raises(UsageError, match="MiB"):
        changes.checked(Entry(f"{number}", "file", 0o644, body) for number in range(257))
    with pytest.raises(UsageError, match="too many"):
        changes.checked(Entry(f"{number}", "file") for number in range(changes.MAX_TREE_ENTRIES + 1))


def test_changes_apply_to_a_tree() -> None:
    base = changes.tree_of({"a/b": b"1", "a/c": b"2", "d": b"3"})
    after = changes.apply(
        base,
        [
            Entry("a", "folder", 0o755, opaque=True),
            Entry("a/x", "file", 0o644, b"4"),
            Entry("d", "folder"),
            Entry("d/e", "file"),
            Entry("gone", "deleted"),
            Entry("pipe", "special"),
        ],
    )
    assert sorted(after) == ["a", "a/x", "d", "d/e"]
    assert changes.differences(base, after) == [
        Change("a/b", "deleted", "file"),
        Change("a/c", "deleted", "file"),
        Change("a/x", "added", "file"),
        Change("d", "changed", "folder"),
        Change("d/e", "added", "file"),
    ]
    merged = changes.apply(base, [Entry("a", "folder", 0o700), Entry("a/b", "link", 0o777, b"c")])
    assert sorted(merged) == ["a", "a/b", "a/c", "d"]
    assert changes.apply(base, [Entry("a", "file")]).keys() == {"a", "d"}


def test_a_tree_laid_out_reads_back_as_it_was(tmp_path: Path) -> None:
    tree = changes.apply(
        changes.tree_of({"a/b": b"1", "-rf": b""}),
        [
            Entry("a/l", "link", 0o777, b"../outside"),
            Entry("s", "file", 0o4711, b"x"),
            Entry("e", "folder", 0o700),
        ],
    )
    folder = os.open(tmp_path, os.O_RDONLY)
    changes.lay_out(folder, tree, None)
    back = {entry.path: entry for entry in changes.read(folder, 1 << 20).entries}
    os.close(folder)
    assert {path: (entry.kind, entry.body) for path, entry in back.items()} == {
        path: (entry.kind, entry.body) for path, entry in tree.items()
    }
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o711
    assert not (tmp_path / "outside").exists()


def test_nothing_is_laid_out_through_a_link(tmp_path: Path) -> None:
    """A tree in which a link has children cannot come from us; it is refused by the file system, not followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "inside"
    inside.mkdir()
    folder = os.open(inside, os.O_RDONLY)
    with pytest.raises(OSError, match=r"."):
        changes.lay_out(
            folder, {"l": Entry("l", "link", 0o777, b"../outside"), "l/x": Entry("l/x", "file")}, None
        )
    os.close(folder)
    assert list(outside.iterdir()) == []
