"""Stages that stall: named in time, with the process that holds them, on a real engine and a real learner."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from appliance import stacks
from appliance.daemon import processes
from appliance.daemon.processes import Holder
from appliance.daemon.stalls import PATIENCE_S, TICK_S, Stalls
from appliance.engine.client import Engine, EngineSettings
from appliance.errors import LearnerError, StoreError
from appliance.journal import Journal
from appliance.learn.base import prepare
from appliance.learn.client import Learner, LearnerSettings, LoraSettings
from appliance.nouns import Sample, Sampling
from appliance.store import Store

Events = list[tuple[str, dict[str, Any]]]
PATIENCE, TICK = 0.5, 0.1


class Desk:
    """A journal that is watched, and what it was told."""

    def __init__(self, folder: Path, holders: Callable[[], list[Holder]], **options: Any) -> None:
        self.store = Store(folder / "store.db", folder / "objects")
        self.events: Events = []
        # The journal needs the listener and the watch the journal: the watch tells through us.
        self.stalls = Stalls(folder, self._tell, holders, patience_s=PATIENCE, tick_s=TICK, **options)
        listeners = (self.stalls.hear, lambda kind, data: self.events.append((kind, dict(data))))
        self.store.add_run("r", created=0.0, seed=0, recipe={"name": "x"}, folder=folder)
        self.journal = Journal(self.store, "r", folder, time.time, listeners)

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self.journal.event(kind, **data)

    def heard(self, kind: str, count: int = 1, within_s: float = 15) -> dict[str, Any]:
        """The last event of a kind, once there are that many."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            found = [data for name, data in self.events if name == kind]
            if len(found) >= count:
                return found[-1]
            time.sleep(0.05)
        raise AssertionError(f"never {count} {kind}: {self.events}")


@pytest.fixture
def engine(tiny_model: Path, tmp_path: Path) -> Iterator[Engine]:
    with Engine(EngineSettings(model=str(tiny_model), slots=2, threads=1), tmp_path / "engine.log") as found:
        yield found


@pytest.fixture
def learner(tiny_model: Path, tmp_path: Path) -> Iterator[Learner]:
    base = prepare(tiny_model, tmp_path / "bases")
    settings = LearnerSettings(str(base.folder), LoraSettings(4, 8.0), 1e-4, device="cpu", threads=1)
    with Learner(settings, tmp_path / "learner.log") as found:
        yield found


def holder(name: str, process: Engine | Learner) -> Holder:
    return Holder(name, process.pid, process.stacks, lambda: process.owes)


def test_it_is_named_within_a_minute() -> None:
    tries_of_two = 2 * stacks.TRIES
    assert PATIENCE_S + TICK_S + processes.MEASURE_S + tries_of_two < 60


def test_a_stopped_engine_is_named_and_its_return_too(engine: Engine, tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda: [holder("engine", engine)])
    with desk.stalls, ThreadPoolExecutor(1) as pool:
        desk.journal.event("stage", step=3, stage="sample")
        os.kill(engine.pid, signal.SIGSTOP)
        call = pool.submit(engine.tokenize, "text", add_bos=False)
        told = desk.heard("stall")
        assert (told["stage"], told["step"], told["process"], told["pid"]) == (
            *("sample", 3, "engine"),
            engine.pid,
        )
        assert told["doing"] == "stopped" and told["seconds"] >= PATIENCE
        report = (tmp_path / told["report"]).read_text()
        assert f"engine pid {engine.pid} stopped cpu 0.00 asked" in report
        assert "no stacks: it did not answer" in report
        # The stacks of the brain are there all the same, this test among them.
        assert "test_daemon_stalls.py" in report
        os.kill(engine.pid, signal.SIGCONT)
        assert call.result() == tuple(b"text")
        assert [kind for kind, _ in desk.events].count("stall") == 1
        desk.journal.live(stage="sample", step=3, attempts_done=1)
        over = desk.heard("stall.over")
        assert over["stage"] == "sample" and over["seconds"] >= told["seconds"] - 0.2


def test_a_learner_that_computes_without_end_is_named_with_its_stacks(
    learner: Learner, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, lambda: [holder("learner", learner)])
    many = [Sample(f"s{i}", (256,) * 200, (49,) * 300, (-5.0,) * 300, 1.0, "base") for i in range(600)]
    failed: list[BaseException] = []

    def step() -> None:
        try:
            learner.score(many)
        except LearnerError as error:
            failed.append(error)

    caller = threading.Thread(target=step)
    with desk.stalls:
        desk.journal.event("stage", step=1, stage="learn")
        caller.start()
        told = desk.heard("stall")
        assert (told["stage"], told["process"], told["doing"]) == ("learn", "learner", "computes")
        assert told["cpu"] > 0.2
        report = (tmp_path / told["report"]).read_text()
        assert "learn/server.py" in report and "in score" in report
    os.kill(learner.pid, signal.SIGKILL)
    caller.join(30)
    assert failed and "signal 9" in str(failed[0])


def test_a_child_that_owes_nothing_is_not_blamed(engine: Engine, learner: Learner, tmp_path: Path) -> None:
    """Everybody waits and nobody was asked anything: it is the brain that does not go on."""
    desk = Desk(tmp_path, lambda: [holder("engine", engine), holder("learner", learner)])
    with desk.stalls:
        desk.journal.event("stage", step=1, stage="publish")
        told = desk.heard("stall")
        assert (told["process"], told["pid"], told["doing"]) == ("brain", os.getpid(), "waits")


def test_a_dead_engine_is_said_to_be_gone(engine: Engine, tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda: [holder("engine", engine)])
    with desk.stalls:
        desk.journal.event("evaluation.started", step=0, tasks=1, attempts=1)
        desk.journal.event("stage", step=0, stage="sample")
        os.kill(engine.pid, signal.SIGKILL)
        told = desk.heard("stall")
        assert (told["stage"], told["process"], told["doing"]) == ("evaluate", "engine", "gone")
        desk.journal.event("evaluation.done", step=0)
        assert desk.heard("stall.over")["stage"] == "evaluate"


def test_progress_is_what_moves_not_what_is_repeated(tmp_path: Path) -> None:
    desk = Desk(tmp_path, list)
    with desk.stalls:
        for done in range(8):
            desk.journal.live(stage="judge", step=1, attempts_done=done, queue=9, jails=2)
            time.sleep(PATIENCE / 3)
        assert [kind for kind, _ in desk.events if kind != "live"] == []
        for jails in range(12):
            desk.journal.live(stage="judge", step=1, attempts_done=7, queue=9, jails=jails)
            time.sleep(PATIENCE / 3)
        assert desk.heard("stall")["stage"] == "judge"
        desk.journal.event("run.stopped")
        assert desk.heard("stall.over")["stage"] == "judge"
        time.sleep(3 * PATIENCE)
        assert [kind for kind, _ in desk.events].count("stall") == 1


def test_a_queue_that_is_stuck_is_named_and_one_with_nothing_to_do_is_not(tmp_path: Path) -> None:
    mark: list[Any] = [None]
    desk = Desk(tmp_path, list, gauges={"queue": lambda: mark[0]})
    with desk.stalls:
        time.sleep(3 * PATIENCE)
        assert desk.events == []
        mark[0] = (5, 17)
        told = desk.heard("stall")
        assert (told["stage"], told["process"], told["step"]) == ("queue", "brain", None)
        mark[0] = (4, 18)
        desk.heard("stall.over")
        desk.heard("stall", 2)
        mark[0] = None
        desk.heard("stall.over", 2)


def test_a_store_that_is_full_does_not_end_the_watch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: Events = []

    def tell(kind: str, data: dict[str, Any]) -> None:
        told.append((kind, data))
        raise StoreError("database or disk is full")

    watch = Stalls(tmp_path, tell, list, patience_s=0.0, tick_s=0.1)
    watch.hear("stage", {"stage": "learn", "step": 1})
    watch.turn()
    watch.hear("update.done", {})
    watch.turn()
    assert [kind for kind, _ in told] == ["stall", "stall.over"]
    assert "not recorded: database or disk is full" in capsys.readouterr().err


def test_a_process_without_a_handler_is_not_signalled(tmp_path: Path) -> None:
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    try:
        assert not stacks.handles(child)
        assert stacks.ask(child, tmp_path / "none", lambda seconds: None) == ""
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_engine_answers_while_it_samples(engine: Engine, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        sampling = Sampling(1.0, 200, ())
        call = pool.submit(engine.generate, engine.tokenize("1", add_bos=True), sampling, seed=1)
        text = stacks.ask(engine.pid, engine.stacks, time.sleep)
        assert "engine/server.py" in text and "_run_module_as_main" in text, "the thread that computes"
        assert call.result().ids
