"""The control socket under hostile hands, and a state folder that cannot be used: a real daemon throughout."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from appliance import frames
from appliance.config import Origins
from appliance.control import MAX_REQUEST_BYTES, ask
from appliance.daemon.book import Book, Wish
from appliance.daemon.listener import listening
from appliance.daemon.server import MOST_CLIENTS, PATIENCE_S
from appliance.errors import StoreError, UsageError
from appliance.paths import from_environment
from appliance.recipe import Recipe
from appliance.store import Store


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "APPLIANCE_HOME": str(home)}


def start(home: Path, *arguments: str, wait: bool = True) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "appliance", "daemon", *arguments]
    child = subprocess.Popen(command, env=environment(home), stderr=subprocess.PIPE, text=True)
    if wait:
        assert child.stderr is not None
        assert "the daemon is ready" in child.stderr.readline()
    return child


def end(child: subprocess.Popen[str]) -> int:
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    return child.returncode


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of an idle daemon, which must still be well at the end."""
    home = tmp_path_factory.mktemp("home")
    child = start(home)
    yield home / "run" / "control.sock"
    assert child.poll() is None
    assert end(child) == 0


def line(path: Path, sent: bytes = b"") -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(3 * PATIENCE_S)
    found.connect(str(path))
    found.sendall(sent)
    return found


def answered_quickly(path: Path) -> None:
    began = time.monotonic()
    assert ask(path, "status", wait_s=10)["daemon"]["pid"] > 0
    assert time.monotonic() - began < PATIENCE_S


def question(**other: object) -> bytes:
    return frames.encode({"v": 1, "verb": "ping", "args": {}} | other)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a question of"),
        (struct.pack(">I", MAX_REQUEST_BYTES + 1) + b"x", "a question of"),
        (struct.pack(">I", 0), "a question of 0 bytes"),
        (struct.pack(">I", 4) + b"\xff\xfe\x00\x01", "JSON"),
        (struct.pack(">I", 2) + b"[]", "object"),
        (struct.pack(">I", 100_000) + b"[" * 100_000, "JSON"),
        (question(v=2), "control protocol 2"),
        (question(v="1"), "'v' is not a whole number"),
        (question(more=1), "unknown key 'more'"),
        (question(verb="run.strat"), "run.start"),
        (question(args={"run": "r"}), "unknown key 'run'"),
        (question(verb="run.stop", args={"run": "r", "now": 1}), "'now' is not true or false"),
        (question(verb="run.stop", args={"run": "r"}), "'now' is missing"),
        (question(verb="run.pause", args={"run": "r" * 10_000}), "over 200 characters"),
        (question(verb="run.pause", args={"run": ["r"]}), "is not a string"),
        (question(verb="run.start", args={"recipe": {}, "origins": {}}), "'name' is missing"),
        (question(verb="run.start", args={"recipe": {"name": "../../x"}, "origins": {}}), "name"),
    ],
)
def test_nonsense_is_answered_with_what_is_wrong(path: Path, sent: bytes, told: str) -> None:
    with line(path, sent) as client, client.makefile("rb") as stream:
        error = (frames.read(stream) or {})["error"]
        assert error["kind"] in ("usage", "config")
        assert told in f"{error['message']} {error['remedy']}"
        assert stream.read() == b""
    answered_quickly(path)


def test_who_stalls_is_dropped_and_holds_up_nobody(path: Path) -> None:
    half = line(path, question()[:9])
    silent = line(path)
    answered_quickly(path)
    began = time.monotonic()
    assert half.recv(1) == b"" and silent.recv(1) == b""
    assert time.monotonic() - began < 2 * PATIENCE_S
    half.close()
    silent.close()


def test_who_does_not_take_its_answer_holds_up_nobody(path: Path) -> None:
    greedy = [line(path, question(verb="status")) for _ in range(MOST_CLIENTS // 2)]
    answered_quickly(path)
    for client in greedy:
        client.close()
    answered_quickly(path)


def test_two_hundred_connections_keep_nobody_out(path: Path) -> None:
    crowd = [line(path, b"\0" if number % 2 else b"") for number in range(200)]
    answered_quickly(path)
    for client in crowd:
        client.close()
    answered_quickly(path)


def test_a_client_that_leaves_in_the_middle_is_no_trouble(path: Path) -> None:
    for _ in range(300):
        line(path, question(verb="status")).close()
    answered_quickly(path)


# the place it listens at


def test_a_passed_socket_is_used_and_left_there(tmp_path: Path) -> None:
    place = tmp_path / "passed.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as passed:
        passed.bind(str(place))
        passed.listen()
        code = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ['LISTEN_PID'] = str(os.getpid());"
        code += (
            "os.execv(sys.executable, [sys.executable, '-m', 'appliance', 'daemon', '--socket', sys.argv[2]])"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(passed.fileno()), str(place)],
            env=environment(tmp_path) | {"LISTEN_FDS": "1"},
            pass_fds=[passed.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert ask(place, "ping")["pid"] == child.pid
        assert end(child) == 0
        assert place.exists()


def test_what_is_no_socket_of_ours_stays(tmp_path: Path) -> None:
    place = tmp_path / "x.sock"
    place.write_text("a letter")
    with pytest.raises(StoreError, match="no socket"), listening(place, {}):
        pass
    assert place.read_text() == "a letter"
    with pytest.raises(StoreError, match="too long"), listening(tmp_path / ("x" * 108), {}):
        pass
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(tmp_path / "dead"))
    dead.close()
    with (
        listening(tmp_path / "dead", {}),
        pytest.raises(StoreError, match="already answers"),
        listening(tmp_path / "dead", {}),
    ):
        pass


# a state folder that cannot be used


def refused(home: Path, *words: str) -> None:
    child = start(home, wait=False)
    _, told = child.communicate(timeout=30)
    assert child.returncode == 1
    assert "Traceback" not in told and "remedy:" in told
    for word in words:
        assert word in told


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path)})
    Store(paths.store, paths.objects).close()
    with sqlite3.connect(paths.store) as later:
        later.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('appliance', 'm999_new', '')"
        )
    later.close()
    before = paths.store.read_bytes()
    refused(tmp_path, "newer version", "m999_new", "update the appliance")
    assert paths.store.read_bytes() == before


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    refused(tmp_path, str(tmp_path / "data"), "APPLIANCE_HOME")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_read_only_state_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(data)], check=True)
    try:
        refused(tmp_path, "Read-only file system")
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_on_a_full_disk_nothing_is_started_and_nothing_is_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(data)], check=True)
    try:
        with Store(data / "store.db", data / "objects") as store:
            run_id = Book(store, from_environment({"APPLIANCE_HOME": str(tmp_path)})).record(WISH, "queued")
        filler = data / "filler"
        filler.write_bytes(b"x" * (shutil.disk_usage(data).free - (8 << 20)))
        child = start(tmp_path)
        status = [sys.executable, "-m", "appliance", "status", "--json"]
        give_up = time.monotonic() + 60
        while True:
            told = subprocess.run(status, env=environment(tmp_path), capture_output=True, text=True)
            found = json.loads(told.stdout)
            if found["daemon"]["trouble"] or time.monotonic() > give_up:
                break
        assert told.returncode == 1
        assert "free disk space" in found["daemon"]["trouble"] and found["waiting"] == [run_id]
        # The daemon writes too, so nobody can say how much there is left.
        with filler.open("ab", buffering=0) as rest, suppress(OSError):
            while True:
                rest.write(b"x" * 4096)
        with pytest.raises(StoreError, match="full"):
            for _ in range(2000):
                ask(tmp_path / "run" / "control.sock", "run.pause", {"run": run_id})
                ask(tmp_path / "run" / "control.sock", "run.resume", {"run": run_id})
        filler.unlink()
        assert ask(tmp_path / "run" / "control.sock", "run.pause", {"run": run_id})["state"] == "paused"
        assert end(child) == 0
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)


# the book


WISH = Wish(Recipe(name="w"), Origins({}))


def test_the_line_keeps_its_order_when_the_clock_jumps_back(tmp_path: Path) -> None:
    times = iter(range(2_000_000_000, 0, -86_400))
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path)})
    with Store(paths.store, paths.objects) as store:
        book = Book(store, paths, clock=lambda: float(next(times)))
        runs = [book.record(WISH, "queued") for _ in range(4)]
        assert book.waiting() == runs
        book.change(runs[1], "paused")
        book.change(runs[0], "stopped")
        assert book.waiting() == runs[2:]
        book.enqueue(runs[1])
        book.enqueue(runs[0])
        assert book.waiting() == [runs[1], *runs[2:], runs[0]]


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path)})
    with Store(paths.store, paths.objects) as store:
        book = Book(store, paths, clock=lambda: 1e9)
        assert len({book.record(WISH, "queued") for _ in range(3)}) == 3


def test_what_was_running_is_put_back_or_called_dead(tmp_path: Path) -> None:
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path)})
    with Store(paths.store, paths.objects) as store:
        book = Book(store, paths)
        ours, theirs = book.record(WISH, "queued"), book.record(WISH, "running")
        later = book.record(WISH, "queued")
        for _ in range(3):
            book.begin(ours, "daemon")
            book.settle()
            assert book.waiting() == [ours, later]
        assert store.run(theirs)["state"] == "died"
        with pytest.raises(UsageError, match="3 times"):
            book.begin(ours, "daemon")
        store.add_update(ours, 1, 0.0, 1.0, {})
        book.settle()
        book.begin(ours, "daemon")
        shutil.rmtree(book.folder(ours))
        book.settle()
        assert book.waiting() == [ours, later]
