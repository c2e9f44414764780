"""The daemon as its operators meet it: real processes, real sockets, real runs of a tiny model."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance import events
from appliance.control import ask
from appliance.errors import ConfigError, NotFoundError, StoreError, UsageError
from appliance.queue.client import Queue
from appliance.reads import Reads
from appliance.store import Store

pytestmark = pytest.mark.jail
PACK = Path(__file__).parent / "data" / "pack_tiny"
RECIPE = """
name = "tiny"
[model]
gguf = "{model}"
[tasks]
packs = ["./pack"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 4
[grpo]
updates = {updates}
tasks_per_update = 3
attempts_per_task = 8
learning_rate = 0.005
rank = 4
alpha = 8.0
[engine]
slots = 16
"""
PER_UPDATE, PER_EVALUATION = 3 * 8, 2 * 4


def recipe(folder: Path, model: Path, updates: int) -> Path:
    """A recipe whose pack is named relative to it."""
    if not (folder / "pack").exists():
        (folder / "pack").symlink_to(PACK)
    path = folder / f"recipe{updates}.toml"
    path.write_text(RECIPE.format(model=model, updates=updates))
    return path


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "APPLIANCE_HOME": str(home)}


def appliance(
    home: Path, *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "appliance", *map(str, arguments)]
    return subprocess.run(
        command, env=environment(home), cwd=cwd, capture_output=True, text=True, timeout=120
    )


def done(home: Path, *arguments: str | Path) -> dict[str, Any]:
    """What a verb that works prints as JSON."""
    told = appliance(home, *arguments, "--json")
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def socket_of(home: Path) -> Path:
    return home / "run" / "control.sock"


def start(home: Path) -> subprocess.Popen[str]:
    """A daemon that is ready."""
    command = [sys.executable, "-m", "appliance", "daemon"]
    with (home / "daemon.log").open("a") as log:
        child = subprocess.Popen(command, env=environment(home), stdout=log, stderr=log, text=True)
    until(lambda: child.poll() is not None or _answers(socket_of(home)), log=home / "daemon.log")
    assert child.poll() is None, (home / "daemon.log").read_text()
    return child


def _answers(path: Path) -> bool:
    try:
        return bool(ask(path, "ping", wait_s=5)["pid"])
    except StoreError:
        return False


@contextmanager
def daemon(home: Path) -> Iterator[subprocess.Popen[str]]:
    child = start(home)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


def until(true: Callable[[], bool], seconds: float = 90, log: Path | None = None) -> None:
    give_up = time.monotonic() + seconds
    while not true():
        told = log.read_text()[-3000:] if log and log.exists() else ""
        assert time.monotonic() < give_up, f"it never came true\n{told}"
        time.sleep(0.1)


def row(home: Path, run_id: str) -> dict[str, Any]:
    reads = Reads(home / "data" / "store.db")
    try:
        return reads.run(run_id) | {"updates": len(reads.updates(run_id))}
    finally:
        reads.close()


def becomes(home: Path, run_id: str, state: str) -> None:
    until(lambda: row(home, run_id)["state"] == state, log=home / "daemon.log")


def kinds(home: Path, run_id: str) -> list[str]:
    with sqlite3.connect(f"file:{home}/data/store.db?mode=ro", uri=True) as reader:
        query = "SELECT kind FROM events WHERE run_id = ? ORDER BY seq"
        return [kind for (kind,) in reader.execute(query, (run_id,))]


def counted_once(home: Path, run_id: str, updates: int) -> None:
    """Each attempt of each step is there once and judged, each update and evaluation too, and the chain holds."""
    with Store(home / "data" / "store.db", home / "data" / "objects") as store:
        total, rows = store.attempts(run_id, limit=10_000)
        assert total == updates * PER_UPDATE + 2 * PER_EVALUATION
        assert {found["status"] for found in rows} <= {"pass", "fail"}
        assert (
            len({(found["step"], found["purpose"], found["task_key"], found["idx"]) for found in rows})
            == total
        )
        assert [found["step"] for found in store.updates(run_id)] == list(range(1, updates + 1))
        assert [found["step"] for found in store.evaluations(run_id)] == [0, updates]
        events.verify(store.events())


def test_runs_are_carried_out_in_order_and_orders_are_recorded(tiny_model: Path, tmp_path: Path) -> None:
    with daemon(tmp_path) as child:
        assert stat.S_IMODE(socket_of(tmp_path).stat().st_mode) == 0o660
        relative = appliance(
            tmp_path, "run", "start", recipe(tmp_path, tiny_model, 2).name, "--json", cwd=tmp_path
        )
        first = json.loads(relative.stdout)["run"]
        second = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 1), "--seed", "7")["run"]
        held = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 1), "--seed", "8")["run"]
        assert done(tmp_path, "run", "pause", held)["state"] == "paused"
        saved = json.loads((tmp_path / "data" / "runs" / first / "recipe.json").read_text())
        assert saved["recipe"]["tasks"]["packs"] == [str(PACK)]

        refused = appliance(tmp_path, "daemon")
        assert refused.returncode == 1 and f"pid {child.pid}" in refused.stderr and "remedy" in refused.stderr
        refused = appliance(tmp_path, "train", tmp_path / "recipe1.toml")
        assert refused.returncode == 1 and "appliance run start RECIPE" in refused.stderr

        becomes(tmp_path, second, "finished")
        assert row(tmp_path, first)["state"] == "finished"
        assert row(tmp_path, held)["state"] == "paused"
        told = done(tmp_path, "status")
        assert told["daemon"]["pid"] == child.pid and told["run"] is None
        assert told["disk"]["free"] > 0 and told["memory"]["daemon"] > 0
        assert done(tmp_path, "run", "stop", held)["state"] == "stopped"
        assert appliance(tmp_path, "run", "pause", held).returncode == 2
        assert appliance(tmp_path, "run", "pause", "nothing").returncode == 4
        assert done(tmp_path, "run", "resume", held)["state"] == "queued"
        becomes(tmp_path, held, "finished")
    assert child.returncode == 0
    assert not socket_of(tmp_path).exists()
    counted_once(tmp_path, first, 2)
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        orders = [event for event in store.events() if event.kind.startswith("control.")]
        assert [event.kind for event in orders if event.run_id == held][:2] == [
            "control.run.pause",
            "control.run.stop",
        ]
        assert {event.actor for event in orders} == {os.getuid()}
        assert all(event.data["pid"] not in (0, child.pid) for event in orders)
    assert (tmp_path / "data" / "runs" / first / "report.md").exists()


def test_a_run_pauses_goes_on_stops_and_is_resumed(tiny_model: Path, tmp_path: Path) -> None:
    with daemon(tmp_path):
        run_id = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 6))["run"]
        until(lambda: row(tmp_path, run_id)["updates"] >= 1, log=tmp_path / "daemon.log")
        assert done(tmp_path, "run", "pause", run_id)["state"] in ("pausing", "paused")
        becomes(tmp_path, run_id, "paused")
        before = row(tmp_path, run_id)["updates"]
        assert run_id in appliance(tmp_path, "run", "show", run_id).stdout
        assert "already paused" in appliance(tmp_path, "run", "pause", run_id).stdout
        time.sleep(2)
        assert row(tmp_path, run_id)["updates"] == before
        assert done(tmp_path, "run", "resume", run_id)["state"] == "running"
        until(lambda: row(tmp_path, run_id)["updates"] > before, log=tmp_path / "daemon.log")
        done(tmp_path, "run", "stop", run_id, "--now")
        becomes(tmp_path, run_id, "stopped")
        until(lambda: done(tmp_path, "status")["run"] is None)
        assert done(tmp_path, "run", "resume", run_id)["changed"]
        becomes(tmp_path, run_id, "finished")
        refused = appliance(tmp_path, "run", "resume", run_id)
        assert refused.returncode == 2 and "finished" in refused.stderr
    counted_once(tmp_path, run_id, 6)
    assert {"run.paused", "run.continued", "run.stopped", "run.resumed"} <= set(kinds(tmp_path, run_id))


def test_a_killed_daemon_goes_on_where_it_was_and_loses_no_queued_run(
    tiny_model: Path, tmp_path: Path
) -> None:
    child = start(tmp_path)
    first = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 4))["run"]
    second = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 1))["run"]
    until(lambda: row(tmp_path, first)["updates"] >= 2, log=tmp_path / "daemon.log")
    child.kill()
    child.wait()
    listed = done(tmp_path, "run", "list")["runs"]
    assert {found["id"]: found["state"] for found in listed} == {first: "died", second: "queued"}
    assert appliance(tmp_path, "status").returncode == 1
    assert "no daemon runs" in appliance(tmp_path, "run", "start", tmp_path / "recipe1.toml").stderr
    with daemon(tmp_path) as again:
        becomes(tmp_path, first, "running")
        until(lambda: row(tmp_path, first)["updates"] >= 3, log=tmp_path / "daemon.log")
        again.send_signal(signal.SIGTERM)
        again.wait(60)
        assert again.returncode == 0
    assert row(tmp_path, first)["state"] in ("queued", "finished")
    with daemon(tmp_path):
        becomes(tmp_path, second, "finished")
        assert row(tmp_path, first)["state"] == "finished"
    counted_once(tmp_path, first, 4)
    counted_once(tmp_path, second, 1)


def child_of(pid: int, module: str) -> int:
    """The process of that module that another one started; 0: there is none."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid and any(word.startswith(module.encode()) for word in words):
            return int(path.name)
    return 0


def test_a_run_goes_on_by_itself_when_its_learner_dies(tiny_model: Path, tmp_path: Path) -> None:
    with daemon(tmp_path) as child:
        run_id = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 4))["run"]
        until(lambda: row(tmp_path, run_id)["updates"] >= 1, log=tmp_path / "daemon.log")
        pid = child_of(child.pid, "appliance.learn")
        os.kill(pid, signal.SIGKILL)
        becomes(tmp_path, run_id, "finished")
        assert child_of(child.pid, "appliance.learn") == 0
    counted_once(tmp_path, run_id, 4)
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        told = [event.data for event in store.events(run_id) if event.kind == "run.queued"]
    assert any("learner process ended" in str(data.get("error")) for data in told)


def test_a_run_that_kills_its_daemon_is_not_started_for_ever(tiny_model: Path, tmp_path: Path) -> None:
    """Three daemons die with it before it makes an update; the fourth says so and goes on to the next."""
    child = start(tmp_path)
    bad = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 50))["run"]
    good = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 1))["run"]
    for count in (1, 2, 3):
        until(lambda count=count: row(tmp_path, bad)["starts"] == count, log=tmp_path / "daemon.log")
        child.kill()
        child.wait()
        child = start(tmp_path)
    becomes(tmp_path, bad, "failed")
    becomes(tmp_path, good, "finished")
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 0
    listed = json.loads(appliance(tmp_path, "events", "--since", "0", "--json").stdout.splitlines()[-1])
    assert listed["seq"] > 5
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        why = next(event.data["error"] for event in store.events(bad) if event.kind == "run.failed")
    assert "3 times without one new update" in why


def test_a_second_signal_does_not_wait(tiny_model: Path, tmp_path: Path) -> None:
    child = start(tmp_path)
    run_id = done(tmp_path, "run", "start", recipe(tmp_path, tiny_model, 50))["run"]
    until(lambda: row(tmp_path, run_id)["updates"] >= 1, log=tmp_path / "daemon.log")
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 0
    assert row(tmp_path, run_id)["state"] == "queued"
    assert "Traceback" not in (tmp_path / "daemon.log").read_text()
    # Without a daemon it can be gone on with by hand, and a stop by hand takes it out of the line.
    hand = subprocess.Popen(
        [sys.executable, "-m", "appliance", "train", "--resume", run_id],
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    becomes(tmp_path, run_id, "running")
    refused = appliance(tmp_path, "daemon")
    assert refused.returncode == 1 and f"pid {hand.pid}" in refused.stderr
    hand.send_signal(signal.SIGINT)
    hand.wait(60)
    assert row(tmp_path, run_id)["state"] == "stopped"


# verbs that need no run: one idle daemon for all


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("idle")
    with daemon(home):
        yield home


def test_a_bad_recipe_is_refused_by_the_daemon_too(idle: Path, tiny_model: Path) -> None:
    good, _ = _resolved(idle, tiny_model)
    for change in (
        {"nonsense": 1},
        {"seed": -1},
        {"model": {"gguf": "/absent.gguf"}},
        {"tasks": {"packs": ["/a"]}},
    ):
        with pytest.raises(ConfigError, match=r"nonsense|seed|absent|no pack"):
            ask(socket_of(idle), "run.start", {"recipe": good | change, "origins": {}})
    with pytest.raises(UsageError, match="origin"):
        ask(socket_of(idle), "run.start", {"recipe": good, "origins": {"seed": "elsewhere"}})
    assert done(idle, "run", "list")["runs"] == []


def _resolved(home: Path, model: Path) -> tuple[dict[str, Any], dict[str, str]]:
    from appliance.recipe import load_recipe

    found, origins = load_recipe(recipe(home, model, 1))
    return found.to_json(), dict(origins.of)


def test_jobs_are_listed_cancelled_and_queued_again(idle: Path) -> None:
    with Queue(idle / "data" / "queue.db") as queue:
        id_ = queue.submit("housekeeping", {"text": "\x1b[31mred"}, group="g\x1b[2J")
    shown = appliance(idle, "job", "show", id_)
    assert "housekeeping" in shown.stdout and "\x1b" not in shown.stdout
    assert "\x1b" not in appliance(idle, "job", "list").stdout
    assert done(idle, "job", "list", "--class", "housekeeping", "--state", "queued")["jobs"][0]["id"] == id_
    assert done(idle, "job", "cancel", id_)["changed"]
    assert not done(idle, "job", "cancel", id_)["changed"]
    assert done(idle, "job", "show", id_)["job"]["state"] == "cancelled"
    assert "is queued" in appliance(idle, "job", "requeue", id_).stdout
    assert "already" in appliance(idle, "job", "requeue", id_).stdout
    assert done(idle, "job", "show", id_)["job"]["attempts"] == 0
    assert appliance(idle, "job", "show", "j999").returncode == 4
    with pytest.raises(NotFoundError):
        ask(socket_of(idle), "job.cancel", {"job": "j999"})
    assert done(idle, "status")["queue"] == {"housekeeping": 1}


def test_jobs_can_be_seen_and_changed_without_a_daemon(tmp_path: Path) -> None:
    assert done(tmp_path, "job", "list")["jobs"] == []
    assert appliance(tmp_path, "job", "cancel", "j1").returncode == 4
    assert not (tmp_path / "data").exists()
    (tmp_path / "data").mkdir()
    with Queue(tmp_path / "data" / "queue.db") as queue:
        id_ = queue.submit("judge", {}, deadline_s=-1)
        assert queue.cancel(id_)
    assert done(tmp_path, "job", "requeue", id_)["changed"]
    assert done(tmp_path, "job", "show", id_)["job"]["deadline"] is None


def test_events_are_followed_while_they_happen(idle: Path) -> None:
    command = [sys.executable, "-m", "appliance", "events", "--follow", "--since", "0"]
    follower = subprocess.Popen(command, env=environment(idle), stdout=subprocess.PIPE, text=True)
    try:
        with Queue(idle / "data" / "queue.db") as queue:
            id_ = queue.submit("admit", {})
        done(idle, "job", "cancel", id_)
        assert follower.stdout is not None
        line = next(line for line in follower.stdout if f"job={id_}" in line)
        assert f"uid {os.getuid()} (pid" in line
    finally:
        follower.send_signal(signal.SIGINT)
        follower.wait(20)
    assert follower.returncode == 130
