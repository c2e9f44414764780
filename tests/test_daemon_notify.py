"""Word to the service manager, over real sockets, and a watchdog that is silent unless all is well."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.daemon.notify import STATUS_CHARS, Notifier, watchdog_seconds
from appliance.daemon.watchdog import STALE_BEAT_S, Vitals, Watchdog
from appliance.errors import StoreError
from appliance.store import Store


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.bind(address.replace("@", "\0", 1))
        self.line.settimeout(5)
        self.env = {"NOTIFY_SOCKET": address}

    def heard(self) -> str:
        return self.line.recv(4096).decode()

    def nothing_within(self, seconds: float) -> bool:
        self.line.settimeout(seconds)
        try:
            self.line.recv(4096)
        except TimeoutError:
            return True
        finally:
            self.line.settimeout(5)
        return False


_numbers = itertools.count()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    name = f"@appliance-test-{os.getpid()}-{next(_numbers)}"
    found = Manager(name if request.param == "abstract" else str(tmp_path / "notify"))
    yield found
    found.line.close()


def test_every_word_arrives(manager: Manager) -> None:
    notifier = Notifier(manager.env)
    notifier.ready("up")
    assert manager.heard() == "READY=1\nSTATUS=up"
    notifier.ready()
    assert manager.heard() == "READY=1"
    notifier.alive()
    assert manager.heard() == "WATCHDOG=1"
    notifier.extend(2.5)
    assert manager.heard() == "EXTEND_TIMEOUT_USEC=2500000"
    notifier.stopping("draining")
    assert manager.heard() == "STOPPING=1\nSTATUS=draining"


def test_a_status_is_one_clean_line(manager: Manager) -> None:
    notifier = Notifier(manager.env)
    notifier.status("run x\nREADY=1\x1b]0;title\x07 \u202eend " + "y" * 500)
    heard = manager.heard()
    assert heard.startswith("STATUS=run x READY=1") and "\n" not in heard and "\x1b" not in heard
    assert len(heard) == len("STATUS=") + STATUS_CHARS
    notifier.status("\x1b[0m")
    assert manager.nothing_within(0.1)


def test_nobody_to_tell_is_no_error(tmp_path: Path) -> None:
    for env in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}, {"NOTIFY_SOCKET": "/" + "x" * 300}):
        Notifier(env).ready("up")


def test_a_manager_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    notifier = Notifier(Manager(str(tmp_path / "notify")).env)
    began = time.monotonic()
    for _ in range(2000):
        notifier.status("again")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "nonsense"}, None),
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "7"}, 0.5),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "8"}, None),
    ],
)
def test_the_limit_of_the_watchdog(env: dict[str, str], wanted: float | None) -> None:
    assert watchdog_seconds(env, 7) == wanted


def vitals(store: Store, *, age: float = 0.0, answers: bool = True) -> Vitals:
    return Vitals(lambda: store.set_live("daemon", time.time(), {}), lambda: age, lambda seconds: answers)


def test_it_speaks_only_when_all_is_well(manager: Manager, tmp_path: Path) -> None:
    said: list[str] = []
    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        notifier = Notifier(manager.env)
        assert Watchdog(notifier, 1, vitals(store), said.append).turn()
        assert manager.heard() == "WATCHDOG=1" and said == []
        for ill, why in (
            (vitals(store, age=STALE_BEAT_S + 1), "not beaten for 31 s"),
            (vitals(store, answers=False), "did not answer within 5 s"),
        ):
            dog = Watchdog(notifier, 1, ill, said.append)
            assert not dog.turn() and not dog.turn()
            assert len(said) == 1 and why in said.pop()
    # The store is closed: a write fails.
    assert not Watchdog(notifier, 1, vitals(store), said.append).turn()
    assert "the store cannot be written" in said.pop()
    assert manager.nothing_within(0.1)


def test_a_store_that_cannot_be_written_silences_it_until_it_can(manager: Manager) -> None:
    said: list[str] = []
    full = True

    def write() -> None:
        if full:
            raise StoreError("database or disk is full")

    dog = Watchdog(Notifier(manager.env), 1, Vitals(write, lambda: 0.0, lambda seconds: True), said.append)
    assert not dog.turn()
    full = False
    assert dog.turn()
    assert said == ["watchdog: the store cannot be written: database or disk is full", "watchdog: well again"]


def test_it_speaks_twice_in_each_limit_and_a_question_that_hangs_silences_it(manager: Manager) -> None:
    hang = threading.Event()
    free = threading.Event()

    def write() -> None:
        if hang.is_set():
            free.wait(20)

    questions = Vitals(write, lambda: 0.0, lambda seconds: True)
    with Watchdog(Notifier(manager.env), 0.4, questions, print):
        began = time.monotonic()
        assert [manager.heard() for _ in range(4)] == ["WATCHDOG=1"] * 4
        assert 0.4 < time.monotonic() - began < 10
        hang.set()
        manager.nothing_within(0.3)
        assert manager.nothing_within(1)
        free.set()
