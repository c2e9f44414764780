"""The review states of tasks: read from the newest change record, moved by the rules, told in the event chain.

Truth is the store's chain of changes. A state binds to a content: a task that differs from it is a draft again. Of a
task that the store knows nothing of, the records in its own folder count where they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from appliance.errors import IntegrityError
from appliance.nouns import Listed, Task
from appliance.pool import record, rules
from appliance.pool.record import Approval, Change, State
from appliance.store import Store
from appliance.verdicts import verifier_of

EVENT = "task.state"
NOBODY = -1
"""In place of a uid that means nothing on this machine."""

Some = TypeVar("Some", bound=Listed)


def stored(store: Store, task_key: str | None = None) -> tuple[Change, ...]:
    """The changes of a task in the store, or all, the oldest first. IntegrityError for what is no record."""
    return tuple(_read(row) for row in store.changes(task_key))


def _read(row: dict[str, object]) -> Change:
    try:
        return Change.from_json(row)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise IntegrityError(
            f"task change {row['seq']} is no change record", remedy="compare with a backup"
        ) from None


def shipped(task: Listed) -> tuple[Change, ...]:
    """The records in the folder of a task; none where they do not hold or break the rules."""
    try:
        found = record.read(Path(task.folder))
    except IntegrityError:
        return ()
    return found if rules.sound(found, task.key) else ()


def history(store: Store, task: Task) -> tuple[Change, ...]:
    """What is on record of a task: what its folder came with, then what the store has; none of it twice."""
    ours = stored(store, task.key)
    return (*(one for one in shipped(task) if not any(record.same(one, other) for other in ours)), *ours)


def state_of(store: Store, task: Task) -> State:
    """The state of a task with the content that it has now. IntegrityError where its newest record was edited."""
    return _state(history(store, task), task)


def _state(past: Sequence[Change], task: Listed) -> State:
    if not past:
        return "draft"
    last = past[-1]
    if last.hash != record.digest(last):
        raise IntegrityError(f"{task.key}: task change {last.seq} was edited", remedy="compare with a backup")
    return _bound(last.task_hash, last.after, task)


def _bound(content: str, state: State, task: Listed) -> State:
    return state if content == task.task_hash or state == "retired" else "draft"


def states_of(store: Store, tasks: Iterable[Listed]) -> dict[str, State]:
    """The state of each task by its key: one query for all, and a look into the folders of those it does not know."""
    known, found = store.last_states(), {}
    for task in tasks:
        if task.key in known:
            content, state = known[task.key]
            found[task.key] = _bound(content, state, task)  # type: ignore[arg-type]
        else:
            found[task.key] = _state(shipped(task), task)
    return found


def active(store: Store, tasks: Sequence[Some]) -> list[Some]:
    """Those of the tasks that are approved and in use."""
    states = states_of(store, tasks)
    return [task for task in tasks if states[task.key] == "active"]


BARRED = ("quarantined", "retired")


def unbarred(store: Store, tasks: Sequence[Some]) -> list[Some]:
    """Those of the tasks that are neither in quarantine nor retired, whether anybody approved them or not."""
    states = states_of(store, tasks)
    return [task for task in tasks if states[task.key] not in BARRED]


def barred_since(store: Store) -> frozenset[str]:
    """Keys of what this store's records bar, whatever its content is now: one query, for a run that goes on."""
    return frozenset(key for key, (_, state) in store.last_states().items() if state in BARRED)


def set_state(
    store: Store,
    task: Task,
    state: State,
    *,
    actor: int,
    name: str,
    reason: str,
    now: float,
    evidence: int | None = None,
    alarm: str = "",
) -> Change:
    """Move a task to another state, and return the record of it.

    `actor` is the caller's uid, `now` in Unix seconds, `evidence` the id of an admission battery (None: the newest).
    Where an approval is wanted the caller's is counted; while another one is missing, `after` of the record is still
    `before`. UsageError for a transition or a person that the rules do not allow, TaskError for a task that cannot
    be moved as it stands.
    """
    with store.together():
        past = history(store, task)
        before = _state(past, task)
        past = _local(store, past)
        rules.check_transition(task.key, before, state)
        after, approvals = state, tuple[Approval, ...]()
        if rules.wants_approval(before, state):
            given, mine = rules.standing(past, task, before), Approval(actor, name)
            rules.check_approver(task, past, given, mine)
            approvals = (*given, mine)
            after = state if len(approvals) >= rules.approvals_wanted(task.split) else before
        change = record.of_task(
            task,
            before,
            after,
            time=now,
            actor=actor,
            name=name,
            reason=reason,
            evidence=_evidence(store, task, past, before, state, evidence),
            alarm=alarm,
            approvals=approvals,
        )
        if state in ("in_review", "approved", "active"):
            rules.check_content(change, past, _splits(store, task))
        return _append(store, change)


def _local(store: Store, past: Sequence[Change]) -> tuple[Change, ...]:
    """The same records with no uid and no evidence where another installation's are meant."""
    ours = {one.hash for one in stored(store, past[-1].task_key)} if past else set()
    return tuple(one if one.hash in ours else replace(one, actor=NOBODY, evidence=None) for one in past)


def _evidence(
    store: Store, task: Task, past: Sequence[Change], before: State, state: State, evidence: int | None
) -> int | None:
    """The battery that a record names: one that must hold where the step rests on it, else the newest there is."""
    found = store.last_admission(task.key) if evidence is None else store.admission(evidence)
    if state == "auto_validated" or rules.wants_approval(before, state):
        return rules.check_evidence(task, verifier_of(task), found, past)
    return int(found["id"]) if found else None


def _splits(store: Store, task: Task) -> dict[str, str]:
    """Splits that this task or one of its cluster was in, by the store and by the folders beside it."""
    found = dict(store.splits_on_record(task.key, task.cluster))
    for path in sorted(Path(task.folder).parent.glob(f"*/{record.FILE}")):
        try:
            beside = record.read(path.parent)
        except IntegrityError:
            continue
        found |= {one.split: one.task_key for one in beside if one.cluster == task.cluster}
    return found


def _append(store: Store, change: Change) -> Change:
    """Bind a record to the store's chain, and tell it in the event chain; the caller holds the store."""
    last = store.last_change()
    bound = record.link(_read(last) if last else None, change)
    store.add_change(bound.to_json())
    told = {
        "task": bound.task_key,
        "task_hash": bound.task_hash,
        "version": bound.version,
        "before": bound.before,
        "after": bound.after,
        "name": bound.name,
        "reason": bound.reason,
        "evidence": bound.evidence,
        "alarm": bound.alarm,
        "change": bound.hash,
    }
    store.append_event(bound.time, "", EVENT, bound.actor, told)
    return bound


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of a request that takes more than one step."""

    steps: tuple[Change, ...]

    @property
    def state(self) -> State:
        return self.steps[-1].after


def move(
    store: Store,
    task: Task,
    through: Sequence[State],
    *,
    actor: int,
    name: str,
    reason: str,
    now: float,
    alarm: str = "",
) -> Moved:
    """Take a task through several states, all of them or none; it stops where another approval is missing."""
    steps: list[Change] = []
    with store.together():
        for state in through:
            steps.append(
                set_state(store, task, state, actor=actor, name=name, reason=reason, now=now, alarm=alarm)
            )
            if steps[-1].after != state:
                break
    return Moved(tuple(steps))


def verify(store: Store) -> int:
    """Recompute the store's chain of changes and hold it against the events; its length. Raises IntegrityError."""
    changes = stored(store)
    count = record.verify(changes, "task changes")
    told = [event.data.get("change") for event in store.events("") if event.kind == EVENT]
    if told != [change.hash for change in changes]:
        raise IntegrityError(
            f"{len(changes)} task changes are on record, but the event chain tells of {len(told)} or of others",
            remedy="compare both with a backup",
        )
    return count
