"""Processes that are killed, stopped or starved of disk: no job is lost, none counts twice.

Each worker here is a real child process; it announces on stdout what its handler is doing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import crash_trials
import pytest

from appliance.errors import StoreError
from appliance.queue.client import Queue
from appliance.queue.keeper import Pace
from appliance.queue.records import Request
from appliance.queue.workers import JobContext, Workers

ROOT = Path(__file__).resolve().parents[1]
QUICK = Pace(poll_s=0.01, sweep_s=0.03, beat_s=0.1, lease_s=60, backoff_s=0.01)
LONG_S = 60.0

WORKER = r"""
import os, sys, time
from pathlib import Path
from appliance.queue.client import Queue
from appliance.queue.keeper import Pace
from appliance.queue.workers import Workers

path, threads, job_s, lease_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
pace = Pace(poll_s=0.01, sweep_s=0.03, beat_s=lease_s / 4, lease_s=lease_s, backoff_s=0.01)

def slow(context):
    os.write(1, f"start {context.job_id}\n".encode())
    time.sleep(job_s)
    os.write(1, f"end {context.job_id}\n".encode())
    return {"by": os.getpid()}

with Queue(Path(path)) as queue, Workers(queue, {"attempt": slow}, {"model": threads}, pace=pace):
    sys.stdin.read()
"""


@contextmanager
def worker(path: Path, threads: int, job_s: float, lease_s: float = 60) -> Iterator[subprocess.Popen[str]]:
    """A worker process that ends when its stdin closes, or is killed at the latest when the block ends."""
    command = [sys.executable, "-c", WORKER, str(path), str(threads), str(job_s), str(lease_s)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def announced(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(count)]
    assert all(lines), "the worker ended early"
    return lines


def done_by(context: JobContext) -> dict[str, int]:
    return {"by": os.getpid()}


def outcomes(queue: Queue, id_: str) -> list[str]:
    return [row["outcome"] for row in queue.history(id_)]


def test_a_worker_killed_in_the_middle_of_its_jobs_loses_none(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        ids = [queue.submit("attempt", {"n": n}) for n in range(12)]
        with worker(path, threads=4, job_s=600) as process:
            started = announced(process, 4)
            process.kill()
            process.wait()
        assert started and queue.depth() == {"attempt": 12}
        assert queue.counts()["attempt"] == {"leased": 4, "queued": 8}
        with Workers(queue, {"attempt": done_by}, {"model": 2}, pace=QUICK):
            done = queue.wait(ids, LONG_S)
        assert {(job.state, job.result["by"]) for job in done if job.result} == {("done", os.getpid())}
        hit = {line.split()[1] for line in started}
        for job in done:
            assert outcomes(queue, job.id) == (["lost", "done"] if job.id in hit else ["done"])
            assert job.attempts == (2 if job.id in hit else 1)


def test_kills_at_random_moments_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    path, dice = tmp_path / "queue.db", random.Random(7)
    with Queue(path) as queue:
        ids = queue.submit_many([Request("attempt", {"n": n}, max_attempts=50) for n in range(60)])
        for _ in range(4):
            with worker(path, threads=4, job_s=0.02) as process:
                announced(process, dice.randrange(1, 20))
                process.kill()
                process.wait()
        with worker(path, threads=4, job_s=0.001):
            done = queue.wait(ids, LONG_S)
        assert {job.state for job in done} == {"done"}
        for job in done:
            assert Counter(outcomes(queue, job.id))["done"] == 1
            assert len(outcomes(queue, job.id)) == job.attempts


def test_the_report_of_a_stopped_process_that_comes_back_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue, worker(path, threads=1, job_s=3, lease_s=0.8) as ghost:
        (id_,) = [queue.submit("attempt", {})]
        assert announced(ghost, 1) == [f"start {id_}"]
        ghost.send_signal(signal.SIGSTOP)
        with Workers(queue, {"attempt": done_by}, {"model": 1}, pace=QUICK):
            (job,) = queue.wait([id_], LONG_S)
        assert job.result == {"by": os.getpid()}
        ghost.send_signal(signal.SIGCONT)
        assert announced(ghost, 1) == [f"end {id_}"], "the ghost did finish its work"
        assert ghost.stdin is not None
        ghost.stdin.close()
        assert ghost.wait(LONG_S) == 0
        assert queue.job(id_) == job
        assert outcomes(queue, id_) == ["lost", "done"]


def test_a_heartbeat_keeps_the_lease_of_a_handler_that_outlasts_it(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue, worker(path, threads=1, job_s=3, lease_s=1) as process:
        id_ = queue.submit("attempt", {})
        announced(process, 1)
        with Workers(queue, {"attempt": done_by}, {"model": 1}, pace=QUICK):
            (job,) = queue.wait([id_], LONG_S)
        assert job.result == {"by": process.pid}
        assert outcomes(queue, id_) == ["done"]


def test_a_job_that_kills_its_workers_is_put_aside_after_its_last_attempt(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        poison = queue.submit("attempt", {}, max_attempts=2)
        for _ in range(2):
            with worker(path, threads=1, job_s=600) as process:
                announced(process, 1)
                process.kill()
                process.wait()
        harmless = queue.submit("attempt", {})
        with Workers(queue, {"attempt": done_by}, {"model": 1}, pace=QUICK):
            put_aside, done = queue.wait([poison, harmless], LONG_S)
        assert (put_aside.state, put_aside.error_kind, put_aside.attempts) == ("failed", "lost", 2)
        assert "attempt 2 of 2" in put_aside.error
        assert done.state == "done"


def test_two_processes_share_the_work_and_do_each_job_once(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue, worker(path, 2, 0.005) as one, worker(path, 2, 0.005) as two:
        ids = queue.submit_many([Request("attempt", {"n": n}) for n in range(200)])
        done = queue.wait(ids, LONG_S)
    hands = Counter(job.result["by"] for job in done if job.result)
    assert set(hands) <= {one.pid, two.pid} and hands.total() == 200
    assert {job.attempts for job in done} == {1}


def test_many_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from appliance.queue.client import Queue\n"
    code += "Queue(Path(sys.argv[1])).submit('attempt', {})"
    command = [sys.executable, "-c", code, str(tmp_path / "new" / "queue.db")]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    assert [process.wait(LONG_S) for process in processes] == [0] * 4
    with Queue(tmp_path / "new" / "queue.db") as queue:
        assert queue.depth() == {"attempt": 4}


# the disk


def test_damaged_pages_are_found_before_any_job_starts(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.submit_many([Request("attempt", {"n": n, "x": "y" * 500}) for n in range(200)])
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(size // 4 // 4096 * 4096)
        stream.write(os.urandom(size // 2))
    runs: list[str] = []
    with pytest.raises(StoreError, match=r"queue\.db") as caught, Queue(path) as queue:
        Workers(queue, {"attempt": lambda context: runs.append(context.job_id)}, {"model": 1}).start()
    assert "move the file" in caught.value.remedy
    assert runs == []


FULL_DISK = """
import json, sys, threading, time
from pathlib import Path
from appliance.errors import StoreError
from appliance.queue import client, pressure
from appliance.queue.client import Queue
from appliance.queue.keeper import Pace
from appliance.queue.workers import Workers

folder, client.PATIENCE_S, pressure.MIN_DISK_BYTES = Path(sys.argv[1]), 0.3, 0
started, full, said = threading.Event(), threading.Event(), {}

def handler(context):
    if context.payload["n"] == 0:
        started.set()
        full.wait(60)
    return {"x": "r" * 200_000}

pace = Pace(poll_s=0.01, sweep_s=0.03, backoff_s=0.01)
with Queue(folder / "queue.db") as queue, Workers(queue, {"attempt": handler}, {"model": 1}, pace=pace):
    ids = [queue.submit("attempt", {"n": n}) for n in range(3)]
    started.wait(60)
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
    full.set()
    try:
        queue.submit("attempt", {"n": 9, "x": "y" * 100_000})
    except StoreError as error:
        said["submit"] = [error.message, error.remedy]
    try:
        queue.wait(ids, 60)
    except StoreError as error:
        said["wait"] = [error.message, error.remedy]
    said["while_full"] = [job.state for job in queue.wait(ids, 0)]
    (folder / "filler").unlink()
    while queue.job(ids[0]).state != "done":
        time.sleep(0.05)
    said["after"] = [[job.state, job.attempts, len(job.result["x"])] for job in queue.wait(ids, 60)]
    said["outcomes"] = [[row["outcome"] for row in queue.history(id_)] for id_ in ids]
print(json.dumps(said))
"""


def test_a_full_disk_is_named_and_results_are_kept_until_there_is_room(tmp_path: Path) -> None:
    """A small tmpfs in a mount namespace of its own, so that nothing is left mounted."""
    script = f'mount -t tmpfs -o size=3m none "{tmp_path}" && exec "$@"'
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("this host lets nobody mount a small file system")
    python = ["sh", "-c", script, "sh", sys.executable, "-c", FULL_DISK, str(tmp_path)]
    run = subprocess.run([*namespace, *python], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    for where in ("submit", "wait"):
        assert "full" in said[where][0] and "free disk space" in said[where][1]
    assert said["while_full"] == ["leased", "queued", "queued"]
    assert said["after"] == [["done", 1, 200_000]] * 3
    assert said["outcomes"] == [["done"]] * 3


@pytest.mark.jail
def test_thirty_kills_of_workers_jailer_and_submitter_lose_double_and_leave_nothing(tmp_path: Path) -> None:
    found = crash_trials.trial(tmp_path, kills=30, seed=1)
    assert crash_trials.complaints(found) == [], found
    assert sum(found["kills"].values()) == 30
    assert found["jobs"] > 30
