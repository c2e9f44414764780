"""The daemon under a service manager, with the jailer of its own unit, and a run that stalls: real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance.sandbox.remote import RemoteJails

pytestmark = pytest.mark.jail
PACK = Path(__file__).parent / "data" / "pack_tiny"
RECIPE = """
name = "tiny"
[model]
gguf = "{model}"
[tasks]
packs = ["{pack}"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 4
[grpo]
updates = {updates}
tasks_per_update = 2
attempts_per_task = 8
learning_rate = 0.005
rank = 4
alpha = 8.0
[engine]
slots = 16
"""


def recipe(folder: Path, model: Path, updates: int) -> Path:
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(model=model, pack=PACK, updates=updates))
    return path


@contextmanager
def going(home: Path, *arguments: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours, ended when the block is left."""
    command = [sys.executable, "-m", "appliance", *arguments]
    with (home / "log").open("ab") as log:
        child = subprocess.Popen(
            command, env={**os.environ, "APPLIANCE_HOME": str(home), **env}, stdout=log, stderr=log
        )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(60)


def came(what: Callable[[], Any], within_s: float = 90) -> Any:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came")


def events(home: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in home.glob("data/runs/*/events.jsonl") for line in path.read_text().splitlines()]
    return [event["data"] for event in map(json.loads, lines) if event["kind"] == kind]


def test_the_manager_hears_what_the_daemon_does(tiny_model: Path, tmp_path: Path) -> None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.bind(str(tmp_path / "notify"))
    line.settimeout(60)
    heard: list[str] = []

    def hears(word: str) -> bool:
        while not any(word in text for text in heard):
            heard.append(line.recv(4096).decode())
        return True

    manager = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "2000000"}
    with line:
        with going(tmp_path, "daemon", **manager):
            assert hears("READY=1") and hears("WATCHDOG=1") and hears("STATUS=idle")
            told = subprocess.run(
                [sys.executable, "-m", "appliance", "run", "start", str(recipe(tmp_path, tiny_model, 2))],
                env={**os.environ, "APPLIANCE_HOME": str(tmp_path)},
                capture_output=True,
                text=True,
            )
            assert told.returncode == 0, told.stderr
            assert hears("STATUS=update 2, ")
        assert hears("STOPPING=1")


def test_a_run_whose_jails_are_a_jailers(tiny_model: Path, tmp_path: Path) -> None:
    place = tmp_path / "jailer.sock"
    with going(tmp_path, "jailer", "--socket", str(place), "--warm"):
        came(place.exists)
        ours = RemoteJails(place)
        seen = False
        path = recipe(tmp_path, tiny_model, 2)
        with going(tmp_path, "train", str(path), APPLIANCE_JAILER=str(place)) as train:
            while train.poll() is None:
                seen = seen or ours.status().live > 0
        assert train.returncode == 0, (tmp_path / "log").read_text()
        assert seen and len(events(tmp_path, "update.done")) == 2


def test_an_audit_is_refused_where_a_jailer_starts_the_jails(tiny_model: Path, tmp_path: Path) -> None:
    place = tmp_path / "jailer.sock"
    path = recipe(tmp_path, tiny_model, 2)
    path.write_text(path.read_text() + "[judge]\naudit_share = 0.5\n")
    with going(tmp_path, "jailer", "--socket", str(place)):
        came(place.exists)
        with going(tmp_path, "train", str(path), APPLIANCE_JAILER=str(place)) as train:
            assert train.wait(60) == 2
    assert "a jailer starts the jails here" in (tmp_path / "log").read_text()


def test_a_learner_that_is_stopped_is_named_within_a_minute(tiny_model: Path, tmp_path: Path) -> None:
    with going(tmp_path, "train", str(recipe(tmp_path, tiny_model, 400))) as train:
        came(lambda: events(tmp_path, "update.done"))
        children = Path(f"/proc/{train.pid}/task/{train.pid}/children").read_text().split()
        pid = next(
            int(word) for word in children if b"appliance.learn" in Path(f"/proc/{word}/cmdline").read_bytes()
        )
        os.kill(pid, signal.SIGSTOP)
        try:
            (told,) = came(lambda: events(tmp_path, "stall"), 60)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (told["process"], told["pid"], told["doing"]) == ("learner", pid, "stopped")
        assert told["seconds"] < 60 and told["stage"] in ("learn", "publish")
        assert came(lambda: events(tmp_path, "stall.over"))[0]["stage"] == told["stage"]
