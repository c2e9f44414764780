"""The tables of `store.db`, as named migrations that are only ever added to."""

from __future__ import annotations

from typing import Any

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

migrations = Migrations("appliance")


def unknown(db: Any) -> list[str]:
    """The migrations of a file that this version does not know: a newer one made them."""
    known = {migration.name for migration in migrations.pending(Database(memory=True))}
    return [found.name for found in migrations.applied(db) if found.name not in known]


@migrations()
def m001_runs(db: Any) -> None:
    db["runs"].create(
        {
            "id": str,
            "created": float,
            "finished": float,
            "state": str,
            "seed": int,
            "recipe": str,
            "folder": str,
            "base": str,
        },
        pk="id",
        not_null={"created", "state", "seed", "recipe", "folder"},
    )
    db["updates"].create(
        {"run_id": str, "step": int, "started": float, "seconds": float, "metrics": str},
        pk=("run_id", "step"),
    )
    db["evaluations"].create(
        {
            "run_id": str,
            "step": int,
            "created": float,
            "pass_rate": float,
            "by_task": str,
            "policy_version": str,
            "seconds": float,
        },
        pk=("run_id", "step"),
    )
    db["live"].create({"run_id": str, "time": float, "data": str}, pk="run_id")


@migrations()
def m002_attempts(db: Any) -> None:
    db["groups"].create(
        {
            "id": str,
            "run_id": str,
            "step": int,
            "task_key": str,
            "purpose": str,
            "policy_version": str,
            "mean": float,
            "state": str,
        },
        pk="id",
    )
    db["groups"].create_index(["run_id", "step"])
    db["attempts"].create(
        {
            "id": str,
            "run_id": str,
            "group_id": str,
            "step": int,
            "purpose": str,
            "task_key": str,
            "idx": int,
            "policy_version": str,
            "stop_reason": str,
            "sampled_tokens": int,
            "created": float,
            "text": str,
            "status": str,
            "reward": float,
            "trace": str,
            "verdict": str,
        },
        pk="id",
    )
    db["attempts"].create_index(["group_id", "idx"])
    db["attempts"].create_index(["run_id", "created"])


@migrations()
def m003_events(db: Any) -> None:
    db["events"].create(
        {
            "seq": int,
            "time": float,
            "run_id": str,
            "kind": str,
            "actor": int,
            "data": str,
            "previous": str,
            "hash": str,
        },
        pk="seq",
    )
    db["events"].create_index(["run_id", "seq"])


@migrations()
def m004_audits(db: Any) -> None:
    # What an audit found, counted; empty where there was none.
    db["attempts"].add_column("audit", str)


@migrations()
def m005_supervision(db: Any) -> None:
    """Who carries a run out, and what the daemon must know to go on after its own death."""
    for name, kind in (("supervisor", str), ("place", int), ("starts", int), ("started_at", int)):
        db["runs"].add_column(name, kind)


@migrations()
def m006_ledger(db: Any) -> None:
    """One row for every verdict reached, never changed; `attempts` shows the one that counts."""
    db["verdicts"].create(
        {
            "seq": int,
            "time": float,
            "kind": str,
            "attempt_id": str,
            "status": str,
            "reward": float,
            "task_hash": str,
            "verifier_hash": str,
            "env_hash": str,
            "artefact_hash": str,
            "seed": int,
            "body": str,
            "previous": str,
            "hash": str,
        },
        pk="seq",
        not_null={"attempt_id", "body", "hash"},
    )
    db["verdicts"].create_index(["attempt_id", "seq"])


@migrations()
def m007_reviews(db: Any) -> None:
    """What people look at and say. `weighed` marks the attempts that the sources of the queue have seen."""
    db["attempts"].add_column("artefact_hash", str)
    db["attempts"].add_column("weighed", int)
    db["attempts"].create_index(["artefact_hash"])
    db["attempts"].create_index(["task_key", "weighed"])
    db.execute("CREATE INDEX idx_attempts_unweighed ON attempts (id) WHERE weighed IS NULL")
    db["reviews"].create(
        {
            "id": int,
            "attempt_id": str,
            "run_id": str,
            "group_id": str,
            "task_key": str,
            "task_hash": str,
            "created": float,
            "verdict_hash": str,
            "artefact_hash": str,
            "sources": str,
            "rank": int,
            "place": int,
            "wanted": int,
            "state": str,
        },
        pk="id",
        not_null={"attempt_id", "sources", "state"},
    )
    db["reviews"].create_index(["attempt_id"], unique=True)
    db["reviews"].create_index(["state"])
    db["opinions"].create(
        {"item": int, "uid": int, "stage": str, "word": str, "note": str, "time": float},
        pk=("item", "uid", "stage"),
    )


@migrations()
def m008_integrity(db: Any) -> None:
    """What audits of verifiers found, and the flips of cases that they counted."""
    db["integrity"].create(
        {
            "id": int,
            "task_key": str,
            "task_hash": str,
            "verifier_hash": str,
            "created": float,
            "actor": int,
            "record": str,
        },
        pk="id",
    )
    db["integrity"].create_index(["task_key", "id"])
    db["flakes"].create(
        {
            "task_hash": str,
            "verifier_hash": str,
            "layer": str,
            "case_number": int,
            "flips": int,
            "clean": int,
            "mean": float,
        },
        pk=("task_hash", "verifier_hash", "layer", "case_number"),
    )


@migrations()
def m009_admissions(db: Any) -> None:
    """The evidence of every admission battery, and what people decided about tasks: one hash chain of changes."""
    db["admissions"].create(
        {
            "id": int,
            "task_key": str,
            "task_hash": str,
            "verifier_hash": str,
            "created": float,
            "actor": int,
            "ok": int,
            "machine": str,
            "record": str,
        },
        pk="id",
    )
    db["admissions"].create_index(["task_key", "id"])
    db["task_changes"].create(
        {
            "seq": int,
            "time": float,
            "task_key": str,
            "task_hash": str,
            "body": str,
            "previous": str,
            "hash": str,
        },
        pk="seq",
        not_null={"task_key", "body", "hash"},
    )
    db["task_changes"].create_index(["task_key", "seq"])


@migrations()
def m010_alarms(db: Any) -> None:
    """What each update came to, and what monitoring found in that."""
    db["attempts"].create_index(["run_id", "step"])
    db["series"].create({"run_id": str, "step": int, "data": str}, pk=("run_id", "step"))
    db["alarms"].create(
        {
            "id": int,
            "created": float,
            "last": float,
            "count": int,
            "run_id": str,
            "step": int,
            "signal": str,
            "level": str,
            "subject": str,
            "text": str,
            "snapshot": str,
            "cause": str,
            "action": str,
            "done": int,
            "state": str,
            "until": float,
            "reason": str,
            "actor": int,
        },
        pk="id",
        not_null={"run_id", "signal", "subject", "state"},
    )
    db["alarms"].create_index(["signal", "subject", "state"])
