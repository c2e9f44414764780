"""Reading a store that others write: live, without its writer, replaced, missing, and not a store at all."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import NotFoundError, StoreError
from appliance.reads import Reads
from appliance.store import Store
from appliance.tui.source import Source


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        yield opened


def add_run(store: Store, run_id: str, created: float) -> None:
    store.add_run(run_id, created=created, seed=0, recipe={"grpo": {"updates": 3}}, folder=store.path.parent)


def test_an_empty_store_has_no_run(store: Store) -> None:
    source = Source(store.path)
    assert source.snapshot(5.0).run is None
    assert source.snapshot(5.0).time == 5.0


def test_it_reads_only_after_a_commit(store: Store) -> None:
    source = Source(store.path)
    assert not source.moved()
    add_run(store, "r", 1.0)
    assert source.moved()
    assert not source.moved()


def test_it_follows_the_newest_run_unless_one_is_named(store: Store) -> None:
    add_run(store, "old", 1.0)
    following, named = Source(store.path), Source(store.path, "old")
    add_run(store, "new", 2.0)
    for source, wanted in ((following, "new"), (named, "old")):
        found = source.snapshot(3.0).run
        assert found is not None
        assert found["id"] == wanted


def test_snapshot_holds_what_the_store_holds(store: Store) -> None:
    add_run(store, "r", 1.0)
    store.append_event(2.0, "r", "run.started", 0, {"seed": 0})
    store.append_event(3.0, "r", "update.started", 0, {"step": 1})
    store.append_event(4.0, "r", "stage", 0, {"stage": "sample", "step": 1})
    group = {
        "id": "g",
        "run_id": "r",
        "step": 1,
        "task_key": "p/t",
        "purpose": "train",
        "policy_version": "b",
    }
    store.add_groups([group])
    store.set_live("r", 5.0, {"stage": "judge", "attempts_done": 3})
    found = Source(store.path).snapshot(6.0)
    assert [event["kind"] for event in found.events] == ["run.started"]
    assert found.stage is not None
    assert found.stage["data"]["stage"] == "sample"
    assert found.groups == {"open": 1}
    assert found.live["attempts_done"] == 3
    assert found.sign_of_life == 5.0
    assert not found.evaluating


def test_missing_store_and_run_name_a_remedy(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as missing:
        Source(tmp_path / "none.db")
    assert "appliance train" in missing.value.remedy
    add_run(store, "r", 1.0)
    with pytest.raises(NotFoundError) as unknown:
        Source(store.path, "other")
    assert "r" in unknown.value.remedy


@pytest.mark.parametrize("content", [b"", b"not a database, but longer than a header would be" * 9])
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as refused:
        Source(path)
    assert refused.value.remedy


def test_it_never_writes(store: Store) -> None:
    reads = Reads(store.path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reads._db.execute("DELETE FROM runs")


def test_a_deleted_and_a_replaced_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(path, tmp_path / "objects") as store:
        add_run(store, "first", 1.0)
    source = Source(path)
    path.rename(tmp_path / "old.db")
    with pytest.raises(StoreError):
        source.moved()
    with Store(path, tmp_path / "objects") as store:
        add_run(store, "second", 1.0)
    assert source.moved()
    found = source.snapshot(2.0).run
    assert found is not None
    assert found["id"] == "second"


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of ours that this thread may read but not write; as root, by another effective user."""
    if os.geteuid() != 0:
        pytest.skip("needs root to read as another user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def as_nobody(folder: Path, run_id: str | None = None) -> Source:
    os.seteuid(65534)
    try:
        return Source(folder / "store.db", run_id)
    finally:
        os.seteuid(0)


def test_without_its_writer_a_store_opens_frozen_and_thaws(unprivileged: Path) -> None:
    path = unprivileged / "store.db"
    with Store(path, unprivileged / "objects") as store:
        add_run(store, "r", 1.0)
        with closing(as_nobody(unprivileged)) as live:
            assert not live.snapshot(2.0).frozen
    source = as_nobody(unprivileged)
    assert source.snapshot(2.0).frozen
    assert source.snapshot(2.0).run is not None
    assert not source.moved()
    with Store(path, unprivileged / "objects") as store:
        add_run(store, "next", 3.0)
        assert source.moved()
        found = source.snapshot(4.0)
        assert not found.frozen
        assert found.run is not None
        assert found.run["id"] == "next"


def test_an_unread_log_is_never_skipped(unprivileged: Path) -> None:
    """A writer died and its index is gone: the log holds the newest facts, so an immutable view would lie."""
    path = unprivileged / "store.db"
    with Store(path, unprivileged / "objects") as store:
        add_run(store, "r", 1.0)
        log = (unprivileged / "store.db-wal").read_bytes()
    (unprivileged / "store.db-wal").write_bytes(log)
    with pytest.raises(StoreError):
        as_nobody(unprivileged)
