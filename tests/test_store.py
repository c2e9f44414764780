"""The store, its blobs and the event chain."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance import events, objects
from appliance.errors import IntegrityError, NotFoundError, StoreError
from appliance.nouns import Attempt, Sampling, Segment, Signal, Verdict
from appliance.store import INLINE_TRACE_BYTES, Store

ATTEMPT = Attempt(
    id="r/train/1/p/t/0",
    run_id="r",
    group_id="r/train/1/p/t",
    step=1,
    purpose="train",
    task_key="p/t",
    task_hash="aa",
    index=0,
    harness="complete",
    policy_version="base",
    engine_build="b",
    seed=7,
    sampling=Sampling(1.0, 8, ("\n\n",)),
    segments=(Segment("prompt", (1, 2)), Segment("sampled", (3,), (-0.5,), "base")),
    stop_reason="stop",
    artefacts={"solution.py": "x"},
)
VERDICT = Verdict(
    task="p/t",
    status="pass",
    reward=1.0,
    signals={"hidden_share": Signal(1.0, 1.0, 1.0, "core")},
    gates={"integrity": True},
    layers=({"name": "L0", "decided": False, "seconds": 0.1},),
    evidence=(),
    cost={"cpu_s": 0.1},
    task_hash="aa",
    verifier_hash="bb",
    artefact_hash="cc",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        yield opened


def test_an_attempt_reads_back_equal(store: Store) -> None:
    store.add_attempt(ATTEMPT, "x", created=1.0)
    assert store.attempt(ATTEMPT.id) == ATTEMPT


def test_a_long_trace_goes_to_the_objects_and_reads_back(store: Store, tmp_path: Path) -> None:
    ids = tuple(range(INLINE_TRACE_BYTES))
    long = replace(ATTEMPT, segments=(Segment("prompt", ids), ATTEMPT.segments[1]))
    store.add_attempt(long, "x", created=1.0)
    assert store.attempt(long.id) == long
    assert len(list((tmp_path / "objects").rglob("*.zst"))) == 1


def test_a_verdict_is_found_among_the_outcomes(store: Store) -> None:
    store.add_attempt(ATTEMPT, "x", created=1.0)
    assert store.outcomes("r", 1, "train")[ATTEMPT.id]["status"] is None
    store.set_verdict(ATTEMPT.id, VERDICT)
    row = store.outcomes("r", 1, "train")[ATTEMPT.id]
    assert (row["status"], row["reward"], row["sampled_tokens"]) == ("pass", 1.0, 1)
    assert Verdict.from_json(VERDICT.to_json()) == VERDICT


def test_train_scores_count_what_came_before_and_leave_out_what_has_no_reward(store: Store) -> None:
    for place, verdict in enumerate([VERDICT, replace(VERDICT, status="infra", reward=None), None]):
        attempt = replace(ATTEMPT, id=f"{ATTEMPT.group_id}/{place}", index=place)
        store.add_attempt(attempt, "x", created=1.0)
        if verdict:
            store.set_verdict(attempt.id, verdict)
    for other in (replace(ATTEMPT, id="later", step=2), replace(ATTEMPT, id="held", purpose="eval")):
        store.add_attempt(replace(other, group_id=other.id), "x", created=1.0)
        store.set_verdict(other.id, VERDICT)
    assert store.train_scores("r", before=2) == [("p/t", 1, 1, 1, 1.0)]
    assert store.train_scores("r", before=1) == []


def test_what_is_absent_is_not_found(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no run"):
        store.run("nope")
    with pytest.raises(NotFoundError, match="no attempt"):
        store.attempt("nope")


def test_opening_twice_applies_no_migration_twice(tmp_path: Path) -> None:
    for _ in range(2):
        with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
            opened.append_event(1.0, "r", "run.started", 0, {})
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        assert events.verify(opened.events()) == 2


def test_an_edited_event_breaks_the_chain(store: Store, tmp_path: Path) -> None:
    for step in range(3):
        store.append_event(float(step), "r", "stage", 0, {"step": step})
    assert events.verify(store.events()) == 3
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("""UPDATE events SET data = '{"step": 9}' WHERE seq = 2""")
    with pytest.raises(IntegrityError, match="event 2"):
        events.verify(store.events())


def test_a_removed_event_breaks_the_chain(store: Store, tmp_path: Path) -> None:
    for step in range(3):
        store.append_event(float(step), "r", "stage", 0, {"step": step})
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("DELETE FROM events WHERE seq = 2")
    with pytest.raises(IntegrityError):
        events.verify(store.events())


def test_a_file_that_is_no_store_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is not a database, not at all" * 100)
    with pytest.raises(StoreError, match=r"store\.db"):
        Store(tmp_path / "store.db", tmp_path / "objects")


def test_a_full_store_is_a_store_error_that_loses_nothing(store: Store) -> None:
    store.add_attempt(ATTEMPT, "x", created=1.0)
    pages = next(iter(store._db.query("PRAGMA page_count")))["page_count"]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="free disk space"):
        store.add_attempt(replace(ATTEMPT, id="second"), "y" * 100_000, created=2.0)
    assert store.attempt(ATTEMPT.id) == ATTEMPT


def test_a_damaged_object_is_noticed(tmp_path: Path) -> None:
    digest = objects.put(tmp_path, b"first")
    other = objects.put(tmp_path, b"second")
    first, second = (tmp_path / name[:2] / f"{name}.zst" for name in (digest, other))
    first.write_bytes(second.read_bytes())
    with pytest.raises(IntegrityError):
        objects.get(tmp_path, digest)
    with pytest.raises(NotFoundError):
        objects.get(tmp_path, "0" * 64)
