"""The jobs table through its client: order, keys, deadlines, cancelling, fencing, and files that are no use."""

from __future__ import annotations

import ast
import os
import random
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import NotFoundError, StoreError, UsageError
from appliance.queue import claims, jobs
from appliance.queue.client import Queue
from appliance.queue.incarnation import is_dead, this_process
from appliance.queue.keeper import Pace
from appliance.queue.records import MAX_JSON_BYTES, Claimant, Job, Report, Request

ROOM = Path(__file__).resolve().parents[1] / "queue"
ME = this_process()
DONE = Report("done", "done", result='{"n":1}')


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    with Queue(tmp_path / "queue.db", clock=clock) as opened:
        yield opened


def claim(queue: Queue, class_: str = "attempt", owner: str = ME) -> Job | None:
    return claims.claim(queue.file, [class_], Claimant(owner, queue.clock(), queue.monotonic() + 60))


def claimed(queue: Queue, class_: str = "attempt") -> Job:
    job = claim(queue, class_)
    assert job is not None
    return job


def drained(queue: Queue, class_: str = "attempt") -> list[Any]:
    found = []
    while job := claim(queue, class_):
        found.append(job.payload["n"])
    return found


# order


def test_jobs_of_a_class_start_by_priority_and_then_in_order_of_submission(queue: Queue) -> None:
    priorities = [random.Random(3).choice([0, 0, 5, -2]) for _ in range(60)]
    for number, priority in enumerate(priorities):
        queue.submit("attempt", {"n": number}, priority=priority)
    queue.submit("judge", {"n": "other"}, priority=99)
    expected = sorted(range(60), key=lambda number: (-priorities[number], number))
    assert drained(queue) == expected
    assert drained(queue, "judge") == ["other"]


def test_order_survives_finished_jobs_and_a_reopened_file(queue: Queue, tmp_path: Path) -> None:
    for number in range(3):
        queue.submit("attempt", {"n": number})
    jobs.finish(queue.file, claimed(queue), DONE, 1.0)
    with Queue(tmp_path / "queue.db") as again:
        again.submit("attempt", {"n": 3})
        assert drained(again) == [1, 2, 3]


def test_a_retried_job_keeps_its_place_before_later_ones(queue: Queue, clock: Clock) -> None:
    for number in range(2):
        queue.submit("attempt", {"n": number})
    first = claimed(queue)
    jobs.finish(queue.file, first, Report("retried", "queued", not_before=clock.now + 5), clock.now)
    assert claimed(queue).payload == {"n": 1}
    assert claim(queue) is None, "not due yet"
    clock.now += 5
    again = claimed(queue)
    assert (again.id, again.attempts, again.token) == (first.id, 2, 2)


# keys


def test_a_key_names_one_job_whatever_its_state(queue: Queue) -> None:
    first = queue.submit("judge", {"b": 1, "a": 2}, key="k")
    assert queue.submit("judge", {"a": 2, "b": 1}, key="k") == first
    jobs.finish(queue.file, claimed(queue, "judge"), DONE, 1.0)
    assert queue.submit("judge", {"a": 2, "b": 1}, key="k") == first
    assert queue.counts() == {"judge": {"done": 1}}
    assert queue.doorbell("jails").waiting() == 1, "one ring for one job"


def test_a_key_used_for_other_work_is_refused_and_nothing_of_the_call_stays(queue: Queue) -> None:
    queue.submit("judge", {"n": 1}, key="k")
    with pytest.raises(UsageError, match="already names another job"):
        queue.submit_many([Request("judge", {"n": 0}), Request("judge", {"n": 2}, key="k")])
    assert queue.counts() == {"judge": {"queued": 1}}
    assert queue.doorbell("jails").waiting() == 1


def test_jobs_without_a_key_are_all_new(queue: Queue) -> None:
    assert len({queue.submit("admit", {}) for _ in range(5)}) == 5


# what is refused


@pytest.mark.parametrize("payload", [{"x": {1, 2}}, {"x": b"bytes"}, {"x": float("nan")}, {"x": object()}])
def test_only_json_is_carried(queue: Queue, payload: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="JSON only"):
        queue.submit("attempt", payload)
    assert queue.counts() == {}


def test_a_huge_payload_is_refused(queue: Queue) -> None:
    with pytest.raises(UsageError, match="allowed"):
        queue.submit("attempt", {"x": "y" * MAX_JSON_BYTES})


def test_an_unknown_class_is_refused_with_the_nearest(queue: Queue) -> None:
    with pytest.raises(UsageError) as caught:
        queue.submit("judg", {})
    assert caught.value.remedy == "did you mean 'judge'?"


@pytest.mark.parametrize("name", ["j99", "17", "", "j", "j٣", "j" + "9" * 30, "j1; DROP TABLE jobs"])
def test_an_unknown_job_is_not_found(queue: Queue, name: str) -> None:
    with pytest.raises(NotFoundError):
        queue.job(name)


# deadlines


def test_a_job_past_its_deadline_expires_at_the_claim(queue: Queue, clock: Clock) -> None:
    late = queue.submit("attempt", {"n": "late"}, deadline_s=10)
    queue.submit("attempt", {"n": "free"})
    clock.now += 10
    assert drained(queue) == ["free"]
    job = queue.job(late)
    assert (job.state, job.error_kind, job.finished, job.attempts) == ("expired", "deadline", clock.now, 0)


def test_a_job_claimed_before_its_deadline_may_end_after_it(queue: Queue, clock: Clock) -> None:
    queue.submit("attempt", {"n": 1}, deadline_s=10)
    job = claimed(queue)
    clock.now += 60
    assert jobs.expire(queue.file, clock.now) == 0
    assert jobs.finish(queue.file, job, DONE, clock.now)


def test_a_retry_past_the_deadline_expires(queue: Queue, clock: Clock) -> None:
    id_ = queue.submit("attempt", {"n": 1}, deadline_s=10)
    jobs.finish(queue.file, claimed(queue), Report("retried", "queued", clock.now + 1), clock.now)
    clock.now += 11
    assert jobs.expire(queue.file, clock.now) == 1
    assert queue.job(id_).state == "expired"


# fencing


def test_only_the_newest_claim_may_report(queue: Queue) -> None:
    id_ = queue.submit("attempt", {"n": 1})
    ghost = claimed(queue)
    assert jobs.finish(queue.file, ghost, Report("lost", "queued"), 1.0)
    heir = claimed(queue)
    assert heir.token > ghost.token
    assert not jobs.finish(queue.file, ghost, Report("done", "done", result='{"by":"ghost"}'), 2.0)
    assert jobs.held(queue.file, [ghost]) == set()
    assert jobs.held(queue.file, [heir]) == {id_}
    assert jobs.finish(queue.file, heir, Report("done", "done", result='{"by":"heir"}'), 3.0)
    assert not jobs.finish(queue.file, heir, Report("failed", "failed"), 4.0), "not twice either"
    assert queue.job(id_).result == {"by": "heir"}
    assert [row["outcome"] for row in queue.history(id_)] == ["lost", "done"]


def test_a_renewed_ghost_does_not_extend_the_lease_of_its_heir(queue: Queue) -> None:
    queue.submit("attempt", {"n": 1})
    ghost = claimed(queue)
    jobs.finish(queue.file, ghost, Report("lost", "queued"), 1.0)
    heir = claimed(queue)
    jobs.renew(queue.file, [ghost], lease_until=1e18)
    assert jobs.leased(queue.file, [], monotonic=1e17) == [heir]


def test_a_released_attempt_is_not_held_against_the_job(queue: Queue) -> None:
    id_ = queue.submit("attempt", {"n": 1}, max_attempts=1)
    jobs.finish(queue.file, claimed(queue), Report("released", "queued"), 1.0)
    again = claimed(queue)
    assert (again.attempts, again.token) == (1, 2)
    jobs.finish(queue.file, again, DONE, 2.0)
    assert [row["token"] for row in queue.history(id_)] == [1, 2]


# cancelling


def test_cancelling_a_group_takes_queued_and_leased_jobs_and_no_others(queue: Queue) -> None:
    mine = queue.submit_many([Request("attempt", {"n": n}, group="mine") for n in range(4)])
    other = queue.submit("attempt", {"n": 9}, group="other")
    done, running = claimed(queue), claimed(queue)
    jobs.finish(queue.file, done, DONE, 1.0)
    assert queue.cancel_group("mine") == 3
    assert [job.state for job in queue.wait(mine, 0)] == ["done", "cancelled", "cancelled", "cancelled"]
    assert not jobs.finish(queue.file, running, DONE, 2.0), "a cancelled job takes no report"
    assert jobs.held(queue.file, [running]) == set()
    assert [row["outcome"] for row in queue.history(running.id)] == ["cancelled"]
    assert drained(queue) == [9]
    assert queue.cancel_group("mine") == 0
    assert queue.cancel(other) and not queue.cancel(other)


def test_counts_depth_and_listing(queue: Queue) -> None:
    queue.submit_many([Request("attempt", {"n": n}, group="g") for n in range(3)])
    queue.submit("judge", {"n": 3})
    jobs.finish(queue.file, claimed(queue), DONE, 1.0)
    claimed(queue)
    assert queue.counts() == {"attempt": {"done": 1, "leased": 1, "queued": 1}, "judge": {"queued": 1}}
    assert queue.depth() == {"attempt": 2, "judge": 1}
    assert [job.payload["n"] for job in queue.jobs(group="g")] == [2, 1, 0]
    assert [job.payload["n"] for job in queue.jobs(class_="attempt", state="queued")] == [2]
    assert [job.payload["n"] for job in queue.jobs(limit=1)] == [3]


def test_wait_returns_in_the_order_asked_for_when_the_time_is_over(queue: Queue) -> None:
    ids = [queue.submit("attempt", {"n": n}) for n in range(3)]
    queue.monotonic = Clock()
    asked = [ids[2], ids[0], ids[2]]
    assert [job.id for job in queue.wait(asked, timeout_s=0)] == asked
    assert queue.wait([]) == []


# back-off


def test_the_backoff_doubles_up_to_its_cap_and_jitters_from_zero() -> None:
    pace = Pace(backoff_s=0.5, backoff_cap_s=30)
    assert [pace.backoff(n, lambda: 1.0) for n in (1, 2, 3, 7, 5000)] == [0.5, 1, 2, 30, 30]
    assert pace.backoff(4, lambda: 0.0) == 0.0


# incarnations


def test_a_process_is_dead_only_when_that_is_certain() -> None:
    boot, namespace, pid, born = ME.split("/")
    assert pid == str(os.getpid())
    assert not is_dead(ME, ME)
    assert is_dead(f"{boot}/{namespace}/{pid}/{int(born) - 1}", ME), "the number was given away again"
    assert is_dead(f"other-boot/{namespace}/{pid}/{born}", ME)
    assert not is_dead(f"{boot}/7/{2**30}/{born}", ME), "another namespace cannot be seen into"
    assert not is_dead("nonsense", ME)


# the file


def test_the_file_and_its_companions_are_private(queue: Queue, tmp_path: Path) -> None:
    queue.submit("attempt", {"n": 1})
    found = sorted(tmp_path.glob("queue.db*"))
    assert len(found) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


def test_a_file_that_was_open_to_others_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    Queue(path).close()
    path.chmod(0o644)
    Queue(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_in_wal_mode_and_synchronous_normal(queue: Queue) -> None:
    with queue.file.read() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 1


def test_a_file_of_a_newer_version_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer version"):
        Queue(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_file_that_is_no_database_is_named_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    path.write_bytes(b"\x00not SQLite" * 1000)
    with pytest.raises(StoreError) as caught:
        Queue(path)
    assert str(path) in caught.value.message and "move the file" in caught.value.remedy


def test_a_folder_that_cannot_hold_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/queue\.db"):
        Queue(tmp_path / "file" / "queue.db")


def test_a_database_locked_by_another_process_is_named(queue: Queue, tmp_path: Path) -> None:
    with queue.file.read() as connection:
        connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(tmp_path / "queue.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked") as caught:
        queue.submit("attempt", {"n": 1})
    assert "another process" in caught.value.remedy
    other.execute("ROLLBACK")
    other.close()
    queue.submit("attempt", {"n": 2})
    assert drained(queue) == [2]


def test_a_full_disk_refuses_a_submission_whole_and_is_named(queue: Queue) -> None:
    kept = queue.submit("attempt", {"n": 1})
    with queue.file.read() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full") as caught:
        queue.submit_many([Request("attempt", {"n": n, "x": "y" * 2000}) for n in range(50)])
    assert "free disk space" in caught.value.remedy
    with queue.file.read() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert queue.counts() == {"attempt": {"queued": 1}}
    assert claimed(queue).id == kept


def test_a_closed_queue_says_so(queue: Queue) -> None:
    queue.close()
    with pytest.raises(StoreError, match="closed"):
        queue.submit("attempt", {})


# the room


def test_the_room_imports_no_pickle_and_reads_no_environment() -> None:
    for path in ROOM.glob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        imports = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        attributes = {
            node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)
        }
        assert not (names | imports | attributes) & {"pickle", "environ", "getenv", "marshal", "shelve"}, path
