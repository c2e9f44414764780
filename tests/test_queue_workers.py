"""Workers on a real queue: real Huey consumers, real threads, real SQLite."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import EngineError, SandboxError, StoreError, TaskError, UsageError
from appliance.queue.app import TASK_NAME
from appliance.queue.client import Queue
from appliance.queue.keeper import Pace
from appliance.queue.records import Request
from appliance.queue.workers import JobContext, Workers

ROOT = Path(__file__).resolve().parents[1]
QUICK = Pace(poll_s=0.01, sweep_s=0.03, beat_s=0.1, lease_s=60, backoff_s=0.01)
LONG_S = 60.0
"""A test that waits this long has failed."""


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with Queue(tmp_path / "queue.db") as opened:
        yield opened


def echo(context: JobContext) -> dict[str, Any]:
    return {"n": context.payload["n"]}


def workers(
    queue: Queue, handler: Callable[[JobContext], Mapping[str, Any] | None], threads: int = 2
) -> Workers:
    return Workers(queue, {"attempt": handler}, {"model": threads}, pace=QUICK)


def until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + LONG_S
    while not true():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.005)


# the plain path


def test_every_job_is_done_and_its_result_comes_back_in_order(queue: Queue) -> None:
    with Workers(queue, {"attempt": echo, "judge": echo}, {"model": 8, "jails": 2}, pace=QUICK):
        attempts = queue.submit_many([Request("attempt", {"n": n}) for n in range(40)])
        judgings = [queue.submit("judge", {"n": n}) for n in range(40)]
        done = queue.wait(attempts + judgings, LONG_S)
    assert [job.result for job in done] == [{"n": n} for n in range(40)] * 2
    assert {(job.state, job.attempts) for job in done} == {("done", 1)}
    assert queue.depth() == {}


def test_one_thread_works_in_order_of_priority_and_submission(queue: Queue) -> None:
    order: list[int] = []
    ids = [queue.submit("attempt", {"n": n}, priority=n % 3) for n in range(30)]
    with workers(queue, lambda context: order.append(context.payload["n"]), threads=1):
        assert {job.state for job in queue.wait(ids, LONG_S)} == {"done"}
    assert order == sorted(range(30), key=lambda n: (-(n % 3), n))


def test_a_handler_may_submit_and_wait_is_woken_without_polling(queue: Queue) -> None:
    def attempt(context: JobContext) -> dict[str, Any]:
        return {
            "judge_job": queue.submit("judge", dict(context.payload), key=f"judge:{context.payload['n']}")
        }

    with Workers(queue, {"attempt": attempt, "judge": echo}, {"model": 4, "jails": 1}, pace=QUICK):
        ids = [queue.submit("attempt", {"n": n}) for n in range(12)]
        judgings = [job.result["judge_job"] for job in queue.wait(ids, LONG_S, poll_s=LONG_S) if job.result]
        assert [job.result for job in queue.wait(judgings, LONG_S, poll_s=LONG_S)] == [
            {"n": n} for n in range(12)
        ]


def test_a_handler_without_result_is_done_with_an_empty_one(queue: Queue) -> None:
    with workers(queue, lambda context: None):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert (job.state, job.result) == ("done", {})


def test_a_handler_knows_its_job(queue: Queue) -> None:
    seen: list[JobContext] = []
    with workers(queue, seen.append):
        id_ = queue.submit("attempt", {"n": 5}, deadline_s=60)
        (job,) = queue.wait([id_], LONG_S)
    (context,) = seen
    assert (context.job_id, context.class_, context.payload) == (id_, "attempt", {"n": 5})
    assert (context.attempt, context.deadline, context.cancelled) == (1, job.deadline, False)


@pytest.mark.parametrize(
    ("handlers", "threads"), [(["judge"], {}), ([], {"jails": 1}), (["judge"], {"jails": 0})]
)
def test_a_class_needs_both_a_handler_and_a_thread(
    queue: Queue, handlers: list[str], threads: dict[str, int]
) -> None:
    with pytest.raises(UsageError, match="jails"):
        Workers(queue, dict.fromkeys(handlers, echo), threads)


# failures


@pytest.mark.parametrize("error", [SandboxError, EngineError])
def test_a_fault_of_the_host_is_tried_again(queue: Queue, error: type[Exception]) -> None:
    def flaky(context: JobContext) -> dict[str, Any]:
        if context.attempt < 3:
            raise error("no jail today")
        return {"attempt": context.attempt}

    with workers(queue, flaky):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert (job.state, job.result, job.attempts) == ("done", {"attempt": 3}, 3)
    assert (job.error_kind, job.error) == ("", "")
    assert [row["outcome"] for row in queue.history(job.id)] == ["retried", "retried", "done"]


def test_a_fault_of_the_host_that_stays_fails_the_job_after_the_last_attempt(queue: Queue) -> None:
    def broken(context: JobContext) -> dict[str, Any]:
        raise EngineError("gone", remedy="restart it")

    with workers(queue, broken):
        (job,) = queue.wait([queue.submit("attempt", {}, max_attempts=2)], LONG_S)
    assert (job.state, job.attempts, job.error_kind) == ("failed", 2, "engine")
    assert job.error == "gone\n  remedy: restart it"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (TaskError("task.toml: no gold"), "task", "task.toml: no gold"),
        (StoreError("store.db: disk is full"), "store", "store.db: disk is full"),
        (ValueError("a bug"), "internal", "ValueError: a bug"),
        (SystemExit(3), "internal", "the handler ended its thread"),
    ],
)
def test_other_errors_fail_the_job_at_once(queue: Queue, error: BaseException, kind: str, text: str) -> None:
    def wrong(context: JobContext) -> dict[str, Any]:
        raise error

    with workers(queue, wrong):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert (job.state, job.attempts, job.error_kind, job.error) == ("failed", 1, kind, text)
    (row,) = queue.history(job.id)
    assert ("in wrong" in row["trace"]) == (kind == "internal" and isinstance(error, Exception))


def test_a_result_that_is_not_json_fails_the_job(queue: Queue) -> None:
    with workers(queue, lambda context: {"x": {1, 2}}):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert job.state == "failed" and "JSON only" in job.error


def test_the_text_of_an_error_is_cleaned_and_cut(queue: Queue) -> None:
    def hostile(context: JobContext) -> dict[str, Any]:
        raise TaskError("\x1b]0;owned\x07\x1b[31mred\u202e" + "x" * 100_000)

    with workers(queue, hostile):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert job.error.startswith("redxxx") and len(job.error) <= 2_000


def test_no_value_of_the_environment_rests_in_the_file(queue: Queue, tmp_path: Path) -> None:
    secret = "s3cret-" + os.urandom(8).hex()
    os.environ["APPLIANCE_TEST_SECRET"] = secret

    def wrong(context: JobContext) -> dict[str, Any]:
        local = os.environ["APPLIANCE_TEST_SECRET"]
        raise KeyError(len(local))

    try:
        with workers(queue, wrong):
            queue.wait([queue.submit("attempt", {})], LONG_S)
    finally:
        del os.environ["APPLIANCE_TEST_SECRET"]
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.glob("queue.db*"))


# cancelling


def test_cancelling_a_group_reaches_the_handler_and_refuses_its_report(queue: Queue) -> None:
    started = threading.Event()

    def patient(context: JobContext) -> dict[str, Any]:
        started.set()
        until(lambda: context.cancelled)
        return {"late": True}

    with workers(queue, patient, threads=1):
        ids = queue.submit_many([Request("attempt", {}, group="g") for _ in range(3)])
        assert started.wait(LONG_S)
        assert queue.cancel_group("g") == 3
        assert [job.state for job in queue.wait(ids, LONG_S)] == ["cancelled"] * 3
    assert {job.result for job in queue.wait(ids)} == {None}
    assert [row["outcome"] for row in queue.history(ids[0])] == ["cancelled"]


def test_a_job_that_waits_past_its_deadline_expires_without_a_free_thread(queue: Queue) -> None:
    release = threading.Event()
    with workers(queue, lambda context: {"released": release.wait(LONG_S)}, threads=1):
        busy = queue.submit("attempt", {})
        (late,) = queue.wait([queue.submit("attempt", {}, deadline_s=0.05)], LONG_S)
        release.set()
        assert late.state == "expired"
        assert queue.wait([busy], LONG_S)[0].state == "done"


# messages


def messages(path: Path) -> list[bytes]:
    with sqlite3.connect(path) as connection:
        return [bytes(row[0]) for row in connection.execute("SELECT data FROM task ORDER BY id")]


def test_a_message_is_a_json_object_with_an_explicit_task_name(queue: Queue, tmp_path: Path) -> None:
    queue.submit("attempt", {"n": "payloads stay in the jobs table"})
    (message,) = map(json.loads, messages(tmp_path / "queue.db"))
    assert message["name"] == TASK_NAME
    assert "payloads" not in json.dumps(message)


def test_nothing_is_pickled_on_the_way(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("pickle was used")

    for name in ("dumps", "loads", "dump", "load"):
        monkeypatch.setattr(pickle, name, forbidden)
    with workers(queue, echo):
        (job,) = queue.wait([queue.submit("attempt", {"n": 1})], LONG_S)
    assert job.result == {"n": 1}


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch exploded",)


@pytest.mark.parametrize(
    "message",
    [
        pickle.dumps(Bomb()),
        b"\xff\xfe",
        b"{",
        b"[1]",
        b"[" * 100_000,
        b'{"id": "1", "name": "os.system", "args": ["touch exploded"]}',
        b'{"id": "1", "name": "appliance.ring", "args": ["unexpected"]}',
        b'{"unknown": 1}',
    ],
)
def test_a_message_that_is_not_ours_is_dropped_and_no_job_is_lost(
    queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = [queue.submit("attempt", {"n": n}) for n in range(3)]
    with sqlite3.connect(tmp_path / "queue.db") as connection:
        connection.execute("UPDATE task SET data = ?", (message,))
    with workers(queue, echo):
        assert [job.state for job in queue.wait(ids, LONG_S)] == ["done"] * 3
    assert messages(tmp_path / "queue.db") == []
    assert not (tmp_path / "exploded").exists()


def test_jobs_whose_messages_vanished_are_rung_again(queue: Queue, tmp_path: Path) -> None:
    ids = [queue.submit("attempt", {"n": n}) for n in range(20)]
    with sqlite3.connect(tmp_path / "queue.db") as connection:
        connection.execute("DELETE FROM task")
    with workers(queue, echo, threads=3):
        assert [job.result for job in queue.wait(ids, LONG_S)] == [{"n": n} for n in range(20)]


def test_messages_vanishing_while_workers_run_lose_no_job(queue: Queue, tmp_path: Path) -> None:
    release = threading.Event()
    with workers(queue, lambda context: {"released": release.wait(LONG_S)}, threads=2):
        ids = [queue.submit("attempt", {}) for _ in range(10)]
        with sqlite3.connect(tmp_path / "queue.db") as connection:
            connection.execute("DELETE FROM task")
        release.set()
        assert {job.state for job in queue.wait(ids, LONG_S)} == {"done"}


def test_rings_too_many_start_nothing(queue: Queue) -> None:
    with queue.file.write():
        for _ in range(50):
            queue.doorbell("model").post()
    runs: list[str] = []
    with workers(queue, lambda context: runs.append(context.job_id)):
        (job,) = queue.wait([queue.submit("attempt", {})], LONG_S)
    assert (runs, job.attempts) == ([job.id], 1)


# a life


def test_leftovers_are_worked_off_by_the_next_workers(queue: Queue, tmp_path: Path) -> None:
    ids = [queue.submit("attempt", {"n": n}) for n in range(5)]
    queue.close()
    with Queue(tmp_path / "queue.db") as again, workers(again, echo):
        assert [job.result for job in again.wait(ids, LONG_S)] == [{"n": n} for n in range(5)]


def test_a_drain_lets_running_jobs_end_and_starts_no_more(queue: Queue) -> None:
    started, release = threading.Barrier(3), threading.Event()

    def slow(context: JobContext) -> dict[str, Any]:
        started.wait(LONG_S)
        release.wait(LONG_S)
        return echo(context)

    crew = workers(queue, slow, threads=2)
    crew.start()
    ids = [queue.submit("attempt", {"n": n}) for n in range(6)]
    started.wait(LONG_S)
    threading.Timer(0.05, release.set).start()
    crew.stop(drain=True)
    assert [job.state for job in queue.wait(ids, 0)] == ["done"] * 2 + ["queued"] * 4
    with workers(queue, echo):
        assert {job.state for job in queue.wait(ids, LONG_S)} == {"done"}


def test_a_stop_without_drain_gives_running_jobs_back_and_refuses_their_reports(queue: Queue) -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def stuck(context: JobContext) -> dict[str, Any]:
        started.set()
        release.wait(LONG_S)
        assert context.cancelled
        ended.set()
        return {"by": "the stopped one"}

    crew = workers(queue, stuck, threads=1)
    crew.start()
    id_ = queue.submit("attempt", {}, max_attempts=1)
    assert started.wait(LONG_S)
    crew.stop(drain=False)
    assert queue.job(id_).state == "queued"
    with workers(queue, lambda context: {"by": "the next one"}):
        assert queue.wait([id_], LONG_S)[0].result == {"by": "the next one"}
        release.set()
        assert ended.wait(LONG_S)
    assert queue.job(id_).result == {"by": "the next one"}
    assert [row["outcome"] for row in queue.history(id_)] == ["released", "done"]
    crew.stop()


def test_no_signal_handler_is_installed(queue: Queue) -> None:
    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(kind) for kind in kinds]
    with workers(queue, echo):
        assert [signal.getsignal(kind) for kind in kinds] == before


def test_no_thread_is_left_behind(queue: Queue) -> None:
    before = set(threading.enumerate())
    with workers(queue, echo, threads=16):
        assert len(set(threading.enumerate()) - before) >= 16
    until(lambda: set(threading.enumerate()) <= before)


def test_a_submission_in_this_process_starts_without_any_polling(queue: Queue) -> None:
    asleep = Pace(poll_s=3600, sweep_s=3600)
    with Workers(queue, {"attempt": echo}, {"model": 2}, pace=asleep):
        for n in range(5):
            assert queue.wait([queue.submit("attempt", {"n": n})], 5)[0].state == "done"


def test_a_submission_of_another_process_is_heard_between_sweeps(queue: Queue, tmp_path: Path) -> None:
    with (
        Queue(tmp_path / "queue.db") as other,
        Workers(queue, {"attempt": echo}, {"model": 2}, pace=Pace(poll_s=0.01, sweep_s=3600)),
    ):
        for n in range(5):
            assert other.wait([other.submit("attempt", {"n": n})], 5)[0].state == "done"


def test_a_process_without_workers_can_submit_and_wait(queue: Queue, tmp_path: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path; from appliance.queue.client import Queue\n"
        "with Queue(Path(sys.argv[1])) as queue:\n"
        "    ids = [queue.submit('attempt', {'n': n}) for n in range(5)]\n"
        "    print(json.dumps([job.result for job in queue.wait(ids, 60)]))\n"
    )
    with workers(queue, echo):
        command = [sys.executable, "-c", code, str(tmp_path / "queue.db")]
        client = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(client.stdout) == [{"n": n} for n in range(5)]
