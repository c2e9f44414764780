"""The docket: the review queue in the store, filled from verdicts and worked off by reviewers.

Every judged attempt is weighed once, in the order of the store, whoever sweeps and however often. The queue is
bounded: equal submissions at a task share one item, a source adds only so many of a task, and what is over the bound
is dropped, the least telling first. Who said what is in the event chain with uid and time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from appliance.errors import UsageError
from appliance.orders import SEED_BITS, derive_seed
from appliance.reviews import LONGEST_NOTE, OVERLAP_SHARE, WORDS, Stage, stage_of
from appliance.store import Store
from appliance.suspicion import SOURCES, Context, Judged, Reason, judged, reasons, wants_two
from appliance.tables import nearest

BLOCK = 200
"""Attempts weighed in one transaction."""
HISTORY = 1000
"""Rewards and CPU times of a task that are looked back at."""
MOST_OPEN = 500
MOST_PER_TASK = 5
"""Open items of one task from one source; the random share is not bounded by it."""


def fill(store: Store, now: float) -> int:
    """Weigh what was judged and not weighed yet; `now` in Unix seconds. Returns how many items are new."""
    before, histories = len(store.reviews()), dict[str, dict[str, Any]]()
    while rows := store.unweighed(BLOCK):
        with store.together():
            _weigh(store, rows, histories, now)
    with store.together():
        _bound(store)
        return len(store.reviews()) - before


def _weigh(
    store: Store, rows: Sequence[Mapping[str, Any]], histories: dict[str, dict[str, Any]], now: float
) -> None:
    """Weigh one block. `histories` of the tasks go on from block to block."""
    items: list[dict[str, Any]] = []
    known = store.reviews()
    for attempt in map(judged, rows):
        if attempt.task_key not in histories:
            histories[attempt.task_key] = store.task_history(attempt.task_key, HISTORY)
        history = histories[attempt.task_key]
        found = reasons(attempt, _context(store, attempt, history))
        if found and _is_wanted(store, attempt, found, known):
            items.append(_item(attempt, found, now))
            known.append(items[-1])
        _remember(history, attempt)
    store.weigh([row["id"] for row in rows], items)


def _context(store: Store, attempt: Judged, history: Mapping[str, Any]) -> Context:
    copies, elsewhere = 1, list[str]()
    if attempt.reward:
        copies, elsewhere = store.copies(attempt.group_id, attempt.task_key, attempt.artefact_hash)
    return Context(
        history["tries"], history["passes"], history["rewards"], history["cpu_s"], copies, elsewhere
    )


def _remember(history: dict[str, Any], attempt: Judged) -> None:
    """What the next attempt at the task is compared with."""
    if attempt.reward is None:
        return
    history["tries"] += 1
    history["rewards"] = [attempt.reward, *history["rewards"]][:HISTORY]
    if attempt.status == "pass":
        history["passes"] += 1
        if attempt.cpu_s is not None:
            history["cpu_s"] = [attempt.cpu_s, *history["cpu_s"]][:HISTORY]


def _is_wanted(
    store: Store, attempt: Judged, found: Sequence[Reason], known: Sequence[dict[str, Any]]
) -> bool:
    """Whether an item of its own is due. What the same submission triggers later is added to its open item."""
    sources = {reason.source for reason in found}
    if "random" in sources:
        return True
    same = [
        item
        for item in known
        if (item["task_key"], item["artefact_hash"]) == (attempt.task_key, attempt.artefact_hash)
    ]
    if same:
        _join(store, same[0], found)
        return False
    counts = Counter(
        reason["source"]
        for item in known
        if item["task_key"] == attempt.task_key and item["state"] == "open"
        for reason in item["sources"]
    )
    return any(counts[source] < MOST_PER_TASK for source in sources)


def _join(store: Store, item: dict[str, Any], found: Sequence[Reason]) -> None:
    """Add the sources that an item does not have yet; one without a number is not in the store yet."""
    there = {reason["source"] for reason in item["sources"]}
    new = [_told(reason) for reason in found if reason.source not in there]
    if not new or item["state"] != "open":
        return
    item["sources"] = [*item["sources"], *new]
    if "id" in item:
        store.set_review(item["id"], sources=item["sources"])


def _item(attempt: Judged, found: Sequence[Reason], now: float) -> dict[str, Any]:
    return {
        "attempt_id": attempt.attempt_id,
        "run_id": attempt.run_id,
        "group_id": attempt.group_id,
        "task_key": attempt.task_key,
        "task_hash": attempt.task_hash,
        "created": now,
        "verdict_hash": attempt.verdict_hash,
        "artefact_hash": attempt.artefact_hash,
        "sources": [_told(reason) for reason in found],
        "rank": min(SOURCES.index(reason.source) for reason in found),
        "place": derive_seed("place", attempt.run_seed, attempt.attempt_id) >> SEED_BITS - 31,
        "wanted": 2 if wants_two(attempt.verdict_hash, OVERLAP_SHARE) else 1,
        "state": "open",
    }


def _told(reason: Reason) -> dict[str, str]:
    return {"source": reason.source, "why": reason.why}


def _bound(store: Store) -> None:
    """Drop what nobody has begun, from the least telling sources and the oldest first, down to the bound.

    The random share goes last: without it no share of hacks could be told.
    """
    items = store.reviews("open")
    begun = {row["item"] for row in store.opinions()}
    idle = [item for item in items if item["id"] not in begun]
    idle.sort(key=lambda item: (_is_random(item), -item["rank"], item["id"]))
    for item in idle[: max(0, len(items) - MOST_OPEN)]:
        store.set_review(item["id"], state="dropped")


def _is_random(item: Mapping[str, Any]) -> bool:
    return any(reason["source"] == "random" for reason in item["sources"])


def decide(store: Store, number: int, word: str, note: str, uid: int, now: float) -> dict[str, Any]:
    """Record what a reviewer says of an item: blind the first time, then final. A final word may be changed.

    Returns item, stage, word and whether anything changed. Raises NotFoundError, and UsageError for a word that is
    none, a note that is too long, and an item that has all the reviewers it needs.
    """
    if word not in WORDS:
        raise UsageError(f"{word!r} is no verdict", remedy=nearest(word, WORDS))
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(note)} characters", remedy=f"at most {LONGEST_NOTE}")
    with store.together():
        return _record(store, store.review(number), word, note, uid, now)


def _record(
    store: Store, item: Mapping[str, Any], word: str, note: str, uid: int, now: float
) -> dict[str, Any]:
    number, about = item["id"], store.opinions(item["id"])
    stage = stage_of(about, uid)
    if stage == "blind" and len({row["uid"] for row in about}) >= item["wanted"]:
        raise UsageError(f"item {number} has its reviewers", remedy="appliance review next shows another")
    said: Stage = "blind" if stage == "blind" else "final"
    earlier = next((row for row in about if (row["uid"], row["stage"]) == (uid, said)), None)
    told = {"item": number, "stage": said, "word": word}
    if earlier and (earlier["word"], earlier["note"]) == (word, note):
        return told | {"changed": False}
    store.append_event(now, item["run_id"], f"review.{said}", uid, {**told, "note": note})
    store.add_opinion({"item": number, "uid": uid, "stage": said, "word": word, "note": note, "time": now})
    _settle(store, item)
    return told | {"changed": True}


def _settle(store: Store, item: Mapping[str, Any]) -> None:
    """An item is done when it has as many final words as it wants."""
    final = sum(row["stage"] == "final" for row in store.opinions(item["id"]))
    if final >= item["wanted"] and item["state"] != "done":
        store.set_review(item["id"], state="done")
