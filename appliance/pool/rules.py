"""What may become of a task, and who may say so. Pure: past records and evidence in, an error out."""

from __future__ import annotations

import pwd
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.errors import TaskError, UsageError
from appliance.nouns import Task
from appliance.pool import versions
from appliance.pool.record import Approval, Change, State
from appliance.tasks import shipped_packs

TRANSITIONS: Mapping[State, tuple[State, ...]] = {
    "draft": ("auto_validated", "quarantined", "retired"),
    "auto_validated": ("in_review", "draft", "quarantined", "retired"),
    "in_review": ("approved", "draft", "quarantined", "retired"),
    "approved": ("active", "quarantined", "retired"),
    "active": ("quarantined", "retired"),
    "quarantined": ("active", "retired"),
    "retired": (),
}
"""The whole table. A task is put in quarantine from anywhere, since an alarm must not wait for a review; it leaves it
only for use or for good."""


def check_transition(key: str, before: State, after: State) -> None:
    """UsageError, which says what is possible, unless the table holds the transition."""
    if after not in TRANSITIONS:
        raise UsageError(f"there is no state {after!r}", remedy=f"the states are {', '.join(TRANSITIONS)}")
    if after not in TRANSITIONS[before]:
        ways = " or ".join(TRANSITIONS[before]) or "nothing any more: give a new task another key"
        raise UsageError(f"{key} is {before} and cannot become {after}", remedy=f"it can become {ways}")


def wants_approval(before: State, after: State) -> bool:
    """Whether a person other than the author has to agree to a transition."""
    return (before, after) in (("in_review", "approved"), ("quarantined", "active"))


def approvals_wanted(split: str) -> int:
    """How many different people have to agree."""
    return 2 if split == "eval" else 1


def standing(past: Sequence[Change], task: Task, before: State) -> tuple[Approval, ...]:
    """The approvals that were given in this state at this content."""
    last = past[-1] if past else None
    waits = last is not None and last.before == last.after == before and last.task_hash == task.task_hash
    return last.approvals if last is not None and waits else ()


def check_approver(task: Task, past: Sequence[Change], given: Sequence[Approval], one: Approval) -> None:
    """UsageError for who is the author, or handed the task in, or agreed already; by uid, by login and by name."""
    names = {folded(one.name), folded(login(one.actor))}
    if task.author and folded(task.author) in names:
        raise UsageError(f"{task.key}: {one.name} is its author", remedy="another person has to approve it")
    submitted = [change for change in past if change.after == "in_review" and change.before != "in_review"]
    for change in submitted[-1:]:
        if change.actor == one.actor or folded(change.name) in names:
            raise UsageError(
                f"{task.key} was submitted by {change.name} (uid {change.actor}), who cannot approve it as"
                f" {one.name} (uid {one.actor})",
                remedy="another person has to approve it, from an account of their own",
            )
    for other in given:
        if other.actor == one.actor or folded(other.name) in names:
            raise UsageError(
                f"{task.key}: {other.name} (uid {other.actor}) approved it already",
                remedy=f"a task of the split {task.split!r} needs a second person, with another account",
            )


def folded(name: str) -> str:
    return " ".join(name.casefold().split())


def login(uid: int) -> str:
    """The name of an account; `uid N` for one that has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def check_evidence(task: Task, verifier: str, found: Mapping[str, Any] | None, past: Sequence[Change]) -> int:
    """The id of the evidence; TaskError unless it is a whole battery that this content passed under this verifier.

    After a quarantine it must be newer than all that was known then.
    """
    remedy = _admit(task)
    if found is None or found["task_key"] != task.key:
        raise TaskError(f"{task.key}: there is no evidence of admission", remedy=remedy)
    if found["task_hash"] != task.task_hash:
        raise TaskError(f"{task.key} changed since its admission battery {found['id']}", remedy=remedy)
    if found["verifier_hash"] != verifier:
        raise TaskError(f"{task.key}: the verifier changed since battery {found['id']}", remedy=remedy)
    if not found["ok"]:
        why = "".join(f"; {one}" for one in _refusals(found))
        raise TaskError(f"{task.key}: admission battery {found['id']} refused it{why}", remedy=remedy)
    if not found["record"].get("whole", True):
        raise TaskError(f"{task.key}: battery {found['id']} was not the whole one", remedy=remedy)
    quarantines = [change for change in past if change.after == "quarantined" != change.before]
    if quarantines and found["id"] <= (quarantines[-1].evidence or 0):
        raise TaskError(
            f"{task.key}: battery {found['id']} is older than its quarantine", remedy=f"{remedy} --again"
        )
    return int(found["id"])


def _admit(task: Task) -> str:
    pack = Path(task.folder).parent
    shipped = pack in (folder.resolve() for folder in shipped_packs().values())
    return f"appliance task admit {'' if shipped else f'--pack {pack} '}{task.key}"


def _refusals(found: Mapping[str, Any]) -> list[str]:
    """What a battery found, a check each."""
    checks = found["record"].get("checks", ())
    return [f"{one['id']} {one['name']}: {one['reason']}" for one in checks if one["state"] == "failed"]


def last_approved(past: Iterable[Change]) -> Change | None:
    """The newest record by which a content was approved."""
    newest = None
    for change in past:
        if change.before != change.after and change.after in ("approved", "active"):
            newest = change
    return newest


def check_content(change: Change, past: Sequence[Change], splits: Mapping[str, str]) -> None:
    """TaskError for a version that was not raised enough, and for a split that the task or its cluster was not in.

    `splits`: split to a task of the same cluster, or the task itself, that was on record in it.
    """
    old = last_approved(past)
    if old is not None:
        versions.check(old, change)
    before = dict(splits) | {one.split: one.task_key for one in past}
    for split, key in before.items():
        if split != change.split:
            who = "it" if key == change.task_key else f"{key}, of the same cluster,"
            raise TaskError(
                f"{change.task_key}: field 'split' of pool.toml is {change.split!r}, but {who} was {split!r}",
                remedy="what was held out once is never trained on, nor the other way; retire it and write a new task",
            )


def sound(changes: Sequence[Change], key: str) -> bool:
    """Whether the records that a pack came with keep these rules. Uids of another machine mean nothing here."""
    state: State = "draft"
    content = ""
    for change in changes:
        before = state if change.task_hash == content or state == "retired" else "draft"
        waits = change.before == change.after and change.approvals
        if change.task_key != key or change.before != before:
            return False
        if not waits and change.after not in TRANSITIONS[before]:
            return False
        if wants_approval(before, change.after) and not _agreed(change, changes):
            return False
        state, content = change.after, change.task_hash
    return True


def _agreed(change: Change, changes: Sequence[Change]) -> bool:
    names = {folded(one.name) for one in change.approvals}
    wrote = {folded(change.author)} | {
        folded(one.name) for one in changes if one.after == "in_review" != one.before
    }
    return len(names) >= approvals_wanted(change.split) and not names & wrote
