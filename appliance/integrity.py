"""The integrity audit of a verifier: can the reward of this task be trusted?

It judges what is known (gold must pass; the empty submission and the untouched start must not), judges gold again
and again with one seed and with others and counts flips case by case, and reads from the store which attempts handed
in files they should not and what the least work with full reward is. An audit, not an alarm: it changes no reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from appliance import flakes
from appliance.controls import controls_of, passing
from appliance.judge import Judge
from appliance.kinds import load_kind
from appliance.nouns import MASKED_STATUSES, Task, Verdict
from appliance.orders import derive_seed
from appliance.siblings import nodes, normal_form
from appliance.store import Store
from appliance.verdicts import EVIDENCE_CAP, verifier_of

REPEATS = 5
"""Judgings of gold with one seed, and again as many with different ones."""
TEXTS = 200
"""Shortest different passing submissions that are looked at for the least work."""
STRAYS = 20
SMALL_SHARE = 0.5
"""Of gold's syntax nodes: what passes with less is worth a look."""


@dataclass(frozen=True, slots=True)
class Control:
    """A submission whose reward is known, and what it got."""

    name: str
    wanted: float
    reward: float | None
    status: str

    @property
    def ok(self) -> bool:
        return self.reward == self.wanted


@dataclass(frozen=True, slots=True)
class Repeats:
    """Gold judged again and again."""

    equal: Mapping[str, int]
    """Status to how often, with one seed."""
    different: Mapping[str, int]
    """The same with a new seed each time."""

    @property
    def flips(self) -> int:
        """Judgings with another status than most."""
        return _minority(self.equal) + _minority(self.different)

    @property
    def rate(self) -> float | None:
        """Share of flips; None when nothing was judged."""
        both = (*self.equal.items(), *self.different.items())
        total = sum(times for status, times in both if status not in MASKED_STATUSES)
        return self.flips / total if total else None


def audit(judge: Judge, store: Store, task: Task, *, repeats: int, now: float, actor: int) -> dict[str, Any]:
    """Audit one task's verifier, keep the record, and return it with what changed since the last one.

    `now` in Unix seconds, `actor` a numeric uid. Raises TaskError when the task's image is not there.
    """
    judged_by = verifier_of(task)
    controls = _controls(judge, task)
    seen = _repeat(judge, task, repeats)
    again = Repeats(*({**Counter(str(verdict.status) for verdict in part)} for part in seen))
    tallies = _count(store, task, judged_by, seen)
    public, hidden = load_kind(task.kind).totals(task)
    record: dict[str, Any] = {
        "task": task.key,
        "task_hash": task.task_hash,
        "verifier_hash": judged_by,
        "controls": [asdict(control) | {"ok": control.ok} for control in controls],
        "repeats": asdict(again) | {"flips": again.flips, "rate": again.rate},
        "flaky": [_flaky(case, tally) for case, tally in tallies.flaky()],
        "quarantine": tallies.quarantines(public + hidden),
        "rejudged": store.rejudged(task.key),
        "strays": store.strays(task.key, STRAYS),
        "least_work": least_work(store, task),
    }
    record["ok"] = all(control.ok for control in controls) and not again.flips and not record["flaky"]
    earlier = store.last_integrity(task.key)
    store.add_integrity(
        {
            "task_key": task.key,
            "task_hash": task.task_hash,
            "verifier_hash": judged_by,
            "created": now,
            "actor": actor,
            "record": record,
        }
    )
    return record | {"changed": changes(earlier["record"], record) if earlier else None}


def _controls(judge: Judge, task: Task) -> list[Control]:
    known = controls_of(task)
    found = {name: (judge.judge(task, files), wanted) for name, (files, wanted) in known.items()}
    return [
        Control(name, wanted, verdict.reward, verdict.status) for name, (verdict, wanted) in found.items()
    ]


def _repeat(judge: Judge, task: Task, repeats: int) -> tuple[list[Verdict], list[Verdict]]:
    gold = passing(task)
    seeds = [derive_seed("integrity", task.task_hash, number) for number in range(repeats)]
    equal = [judge.judge(task, gold, seed=seeds[0]) for _ in range(repeats)]
    return equal, [judge.judge(task, gold, seed=seed) for seed in seeds]


def _count(
    store: Store, task: Task, judged_by: str, seen: tuple[Sequence[Verdict], Sequence[Verdict]]
) -> flakes.Flakes:
    """Add the flips of this audit to what is on record, and return all of it."""
    fresh = flakes.count([*seen[0], *seen[1]], EVIDENCE_CAP)
    with store.together():
        whole = flakes.Flakes.from_rows(store.flakes(task.task_hash, judged_by)) + fresh
        identity = {"task_hash": task.task_hash, "verifier_hash": judged_by}
        store.set_flakes(
            [
                {**identity, "layer": layer, "case_number": case, **asdict(tally), "mean": tally.mean}
                for (layer, case), tally in whole.tallies.items()
            ]
        )
    return whole


def least_work(store: Store, task: Task) -> dict[str, Any] | None:
    """The smallest submission that passed, by syntax nodes where it is Python, else by bytes; None before a pass.

    `times`: how often it came, in normal form. `of_gold`: its size as a share of gold's, where both have nodes.
    """
    rows = store.passed_texts(task.key, TEXTS)
    if not rows:
        return None
    gold = load_kind(task.kind).controls(task)["gold"][0]
    name = "solution.py" if all(name.endswith(".py") for name in gold) else ""
    sizes = [(nodes(row["text"]) if name else None, row) for row in rows]
    parsed = [(size, row) for size, row in sizes if size is not None]
    size, row = min(parsed, key=lambda pair: pair[0]) if parsed else (None, rows[0])
    form = normal_form(name, row["text"])
    times = sum(other["n"] for other in rows if normal_form(name, other["text"]) == form)
    # Joined as the text of an attempt is, so that several files are compared with as many.
    whole = nodes("\n".join(body.decode("utf-8", "replace") for body in gold.values())) if name else None
    share = size / whole if size is not None and whole else None
    return {
        "attempt": row["id"],
        "bytes": len(row["text"].encode("utf-8", "replace")),
        "nodes": size,
        "times": times,
        "of_gold": share,
        "small": share is not None and share < SMALL_SHARE,
    }


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What differs between two audits of one task, in words."""
    found = [
        f"the {name} is another one"
        for name, key in (("task", "task_hash"), ("verifier", "verifier_hash"))
        if before[key] != after[key]
    ]
    old, new = (
        {row["name"]: (row["status"], row["reward"]) for row in part["controls"]} for part in (before, after)
    )
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            found.append(f"{name}: {_fate(old.get(name))}, now {_fate(new.get(name))}")
    were, are = ({(row["layer"], row["case"]) for row in part["flaky"]} for part in (before, after))
    found += [f"{layer} case {case} is flaky now" for layer, case in sorted(are - were)]
    return found + [f"{layer} case {case} is not flaky any more" for layer, case in sorted(were - are)]


def _fate(control: tuple[str, float | None] | None) -> str:
    return "not there" if control is None else f"{control[0]} with reward {control[1]}"


def _flaky(case: flakes.Case, tally: flakes.Tally) -> dict[str, Any]:
    return {"layer": case[0], "case": case[1], **asdict(tally), "mean": tally.mean}


def _minority(statuses: Mapping[str, int]) -> int:
    """A host fault is no answer, and so no flip."""
    decided = [times for status, times in statuses.items() if status not in MASKED_STATUSES]
    return sum(decided) - max(decided, default=0)
