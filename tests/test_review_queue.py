"""The review queue: which attempts the sources find, and that the docket stays bounded, repeatable and honest."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from review_helpers import GOLD, RUN, TASK, WRONG, add_attempt, add_run

from appliance import docket, events
from appliance.docket import MOST_PER_TASK, decide, fill
from appliance.errors import NotFoundError, UsageError
from appliance.reviews import final_word, see, stage_of, summary, waiting
from appliance.schema import migrations
from appliance.statistics import kappa, trials_to_find, wilson
from appliance.store import Store
from appliance.suspicion import Context, Judged, reasons

NOW = 1000.0
PLAIN = Judged(
    attempt_id="a",
    run_id=RUN,
    group_id="g",
    task_key=TASK,
    task_hash="t",
    purpose="train",
    step=1,
    index=0,
    run_seed=0,
    status="pass",
    reward=1.0,
    public_share=1.0,
    hidden_share=1.0,
    hidden_ran=True,
    cpu_s=0.05,
    closed=(),
    found={},
    outcomes=(),
    artefact_hash="h",
    verdict_hash="v",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        add_run(opened)
        yield opened


def sources(store: Store) -> list[list[str]]:
    return [[reason["source"] for reason in item["sources"]] for item in store.reviews()]


@pytest.fixture
def no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """No random share, so that only what a test sets up is found."""
    monkeypatch.setattr(docket, "reasons", lambda attempt, context: reasons(attempt, context, share=0.0))


# the sources


@pytest.mark.parametrize(
    ("changes", "context", "wanted"),
    [
        ({}, {}, []),
        ({}, {"tries": 16}, ["first_solve"]),
        ({}, {"tries": 15}, []),
        ({}, {"tries": 60, "passes": 1}, []),
        ({"status": "fail", "reward": 0.0}, {"tries": 60}, []),
        ({}, {"tries": 60, "passes": 1, "rewards": [0.0] * 50}, ["reward_jump"]),
        ({}, {"tries": 60, "passes": 1, "rewards": [0.0] * 49}, []),
        ({}, {"tries": 60, "passes": 9, "rewards": [0.0] * 50 + [1.0] * 9}, []),
        ({"status": "fail", "reward": 0.0, "hidden_share": 0.5}, {}, ["hidden_gap"]),
        ({"status": "fail", "reward": 0.0, "hidden_share": 0.6}, {}, []),
        ({"status": "fail", "reward": 0.0, "hidden_share": 0.0, "hidden_ran": False}, {}, []),
        ({"status": "infra", "reward": None, "hidden_share": 0.0}, {"tries": 60}, []),
        ({"cpu_s": 0.009}, {"cpu_s": [0.05] * 5}, ["fast"]),
        ({"cpu_s": 0.011}, {"cpu_s": [0.05] * 5}, []),
        ({"cpu_s": 0.001}, {"cpu_s": [0.05] * 4}, []),
        ({"cpu_s": None}, {"cpu_s": [0.05] * 5}, []),
        ({}, {"copies": 3}, ["duplicate"]),
        ({}, {"copies": 2}, []),
        ({}, {"elsewhere": ["p/other"]}, ["duplicate"]),
        ({"status": "fail", "reward": 0.0}, {"copies": 8, "elsewhere": ["p/other"]}, []),
        ({"status": "tamper", "reward": 0.0}, {}, ["tripwire"]),
        ({"closed": ("security",), "status": "fail", "reward": 0.0}, {}, ["tripwire"]),
        ({"closed": ("limits",), "status": "candidate_timeout", "reward": 0.0}, {}, []),
        ({"found": {"connected": 1, "incomplete": 1}}, {}, ["tripwire"]),
        ({"found": {"connected": 0, "incomplete": 1}}, {}, []),
    ],
)
def test_each_source_speaks_when_it_should(
    changes: dict[str, Any], context: dict[str, Any], wanted: list[str]
) -> None:
    found = reasons(replace(PLAIN, **changes), Context(**context), share=0.0)
    assert [reason.source for reason in found] == wanted
    assert all(reason.why for reason in found)


def test_the_random_share_is_the_share_and_the_same_every_time() -> None:
    places = [replace(PLAIN, step=step, index=index) for step in range(500) for index in range(20)]
    drawn = [place for place in places if reasons(place, Context(), share=0.015)]
    assert drawn == [place for place in places if reasons(place, Context(), share=0.015)]
    assert 110 < len(drawn) < 190
    other = [place for place in places if reasons(replace(place, run_seed=1), Context(), share=0.015)]
    assert other != drawn


# the docket


def test_a_first_solve_is_found_among_real_rows_and_only_once(store: Store, no_chance: None) -> None:
    for index in range(16):
        add_attempt(store, f"{WRONG}# {index}\n", index=index)
    solved = add_attempt(store, GOLD, "pass", step=2)
    assert fill(store, NOW) == 1
    (item,) = store.reviews()
    assert (item["attempt_id"], item["state"], item["created"]) == (solved, "open", NOW)
    assert item["sources"] == [{"source": "first_solve", "why": "the first pass after 16 tries"}]
    assert len(item["verdict_hash"]) == 64
    assert fill(store, NOW + 1) == 0
    assert store.unweighed(10) == []


def test_sweeps_in_parts_find_what_one_sweep_finds(store: Store, no_chance: None, tmp_path: Path) -> None:
    with Store(tmp_path / "other/store.db", tmp_path / "other/objects") as other:
        add_run(other)
        for kept, parts in ((store, True), (other, False)):
            for index in range(20):
                add_attempt(kept, f"{WRONG}# {index}\n", index=index)
                if parts:
                    fill(kept, NOW)
            add_attempt(kept, GOLD, "pass", step=2, cpu_s=0.001)
            add_attempt(kept, "exit()\n", "tamper", step=3)
            fill(kept, NOW)
        assert sources(store) == sources(other) == [["first_solve"], ["tripwire"]]
        assert [item["place"] for item in store.reviews()] == [item["place"] for item in other.reviews()]


def test_what_is_not_judged_waits_for_its_verdict(store: Store, no_chance: None) -> None:
    attempt = add_attempt(store, "exit()\n", judged=False)
    assert fill(store, NOW) == 0
    add_attempt(store, "exit()\n", "tamper")
    assert fill(store, NOW) == 1
    assert store.reviews()[0]["attempt_id"] == attempt


def test_duplicates_in_a_group_and_across_tasks_are_one_item_each(store: Store, no_chance: None) -> None:
    for index in range(6):
        add_attempt(store, GOLD, "pass", index=index)
    add_attempt(store, GOLD, "pass", task="judging/sort_words", step=2)
    fill(store, NOW)
    assert sources(store) == [["duplicate"], ["duplicate"]]
    assert "judging/sort_words" in store.reviews()[0]["sources"][0]["why"]


def test_later_sources_join_the_item_of_the_same_files(store: Store, no_chance: None) -> None:
    for index in range(3):
        add_attempt(store, GOLD, "pass", index=index)
    fill(store, NOW)
    add_attempt(store, GOLD, "pass", step=2, audit={"found": {"connected": 2}})
    fill(store, NOW)
    assert sources(store) == [["duplicate", "tripwire"]]


def test_one_source_does_not_flood_the_queue(store: Store, no_chance: None) -> None:
    for index in range(3 * MOST_PER_TASK):
        add_attempt(store, f"exit({index})\n", "tamper", index=index)
    fill(store, NOW)
    assert sources(store) == [["tripwire"]] * MOST_PER_TASK


def test_over_the_bound_the_least_telling_is_dropped(
    store: Store, no_chance: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docket, "MOST_OPEN", 4)
    for number in range(4):
        add_attempt(store, f"{WRONG}# {number}\n", step=number, shares=(1.0, 0.2))
    fill(store, NOW)
    first = store.reviews()[0]["id"]
    decide(store, first, "legitimate", "", 7, NOW)
    for number in range(2):
        add_attempt(store, f"exit({number})\n", "tamper", step=10 + number)
    fill(store, NOW)
    states = {item["id"]: (item["state"], item["sources"][0]["source"]) for item in store.reviews()}
    assert (
        sorted(states.values())
        == [("dropped", "hidden_gap")] * 2 + [("open", "hidden_gap")] * 2 + [("open", "tripwire")] * 2
    )
    assert states[first][0] == "open", "what somebody has begun stays"


def test_an_old_store_is_migrated_and_its_attempts_are_weighed(tmp_path: Path, no_chance: None) -> None:
    path = tmp_path / "old.db"
    with Store(path, tmp_path / "objects") as old:
        add_run(old)
        add_attempt(old, "exit()\n", "tamper")
    with sqlite3.connect(path) as raw:
        for table in ("reviews", "opinions", "integrity", "flakes"):
            raw.execute(f"DROP TABLE {table}")
        raw.execute("DROP INDEX idx_attempts_unweighed")
        raw.execute("DROP INDEX idx_attempts_artefact_hash")
        raw.execute("DROP INDEX idx_attempts_task_key_weighed")
        raw.execute("ALTER TABLE attempts DROP COLUMN weighed")
        raw.execute("ALTER TABLE attempts DROP COLUMN artefact_hash")
        raw.execute("DELETE FROM _sqlite_migrations WHERE name IN ('m007_reviews', 'm008_integrity')")
    with Store(path, tmp_path / "objects") as migrated:
        assert not list(migrations.pending(migrated._db))
        assert fill(migrated, NOW) == 1


def test_two_processes_may_write_at_once(store: Store) -> None:
    """A reviewer's word must not end a run that appends events at the same time."""
    code = (
        "import sys; from pathlib import Path; from appliance.store import Store\n"
        "with Store(Path(sys.argv[1]), Path(sys.argv[2])) as store:\n"
        "    for n in range(150): store.append_event(float(n), 'r', 'stage', 0, {'n': n})\n"
    )
    command = [sys.executable, "-c", code, str(store.path), str(store.path.parent / "objects")]
    children = [subprocess.Popen(command) for _ in range(2)]
    for number in range(150):
        store.append_event(float(number), RUN, "stage", 0, {"n": number})
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    assert events.verify(store.events()) == 450


def test_a_write_between_a_read_and_its_write_does_not_fail(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another connection tries to write just after the last event was read: it waits, and nobody loses."""
    others: list[threading.Thread] = []
    link = events.link

    def meanwhile() -> None:
        with Store(store.path, store.path.parent / "objects") as other:
            other.set_live(RUN, NOW, {"stage": "sample"})

    def slowly(*content: Any) -> Any:
        others.append(threading.Thread(target=meanwhile))
        others[-1].start()
        others[-1].join(0.3)
        return link(*content)

    monkeypatch.setattr(events, "link", slowly)
    store.append_event(NOW, RUN, "stage", 0, {})
    others[-1].join(30)
    assert [event.kind for event in store.events()] == ["stage"]
    assert store._rows("SELECT data FROM live", []) == [{"data": '{"stage": "sample"}'}]


# deciding


@pytest.fixture
def item(store: Store, no_chance: None) -> int:
    """One item, of a group with three other attempts, that wants one reviewer."""
    add_attempt(store, "exit()\n", "tamper", evidence=[{"layer": "intake", "outcome": "forbidden_file"}])
    for index, text in enumerate((GOLD, "# mine\n" + GOLD, WRONG), start=1):
        add_attempt(store, text, "fail" if text is WRONG else "pass", index=index)
    fill(store, NOW)
    (found,) = store.reviews()
    store.set_review(found["id"], wanted=1)
    return int(found["id"])


def test_blind_first_then_final_and_all_of_it_is_in_the_chain(store: Store, item: int) -> None:
    assert decide(store, item, "unclear", "odd", 7, NOW) == {
        "item": item,
        "stage": "blind",
        "word": "unclear",
        "changed": True,
    }
    assert store.review(item)["state"] == "open"
    assert decide(store, item, "hack", "", 7, NOW + 1)["stage"] == "final"
    assert store.review(item)["state"] == "done"
    assert decide(store, item, "hack", "", 7, NOW + 2)["changed"] is False
    assert decide(store, item, "legitimate", "I was wrong", 7, NOW + 3)["changed"] is True
    told = [(event.kind, event.actor, event.time, event.data["word"]) for event in store.events(RUN)]
    assert told == [
        ("review.blind", 7, NOW, "unclear"),
        ("review.final", 7, NOW + 1, "hack"),
        ("review.final", 7, NOW + 3, "legitimate"),
    ]
    assert events.verify(store.events()) == 3
    assert final_word(store.opinions(item)) == "legitimate"


def test_what_cannot_be_decided(store: Store, item: int) -> None:
    with pytest.raises(UsageError) as wrong:
        decide(store, item, "legit", "", 7, NOW)
    assert "legitimate" in wrong.value.remedy
    with pytest.raises(UsageError, match="201 characters"):
        decide(store, item, "hack", "x" * 201, 7, NOW)
    with pytest.raises(NotFoundError, match="no review item 99"):
        decide(store, 99, "hack", "", 7, NOW)
    decide(store, item, "hack", "", 7, NOW)
    with pytest.raises(UsageError, match="has its reviewers"):
        decide(store, item, "hack", "", 8, NOW)
    assert len(store.opinions()) == 1


def members(store: Store, group_id: str) -> list[dict[str, Any]]:
    from appliance.reads import Reads

    reads = Reads(store.path)
    try:
        return reads.members(group_id, 100)
    finally:
        reads.close()


def test_the_blind_view_has_nothing_of_the_verdict(store: Store, item: int) -> None:
    row = store.review(item)
    blind = see(row, store.opinions(), members(store, row["group_id"]), 7)
    assert (blind.stage, blind.evidence, blind.files) == ("blind", None, {"solution.py": "exit()\n"})
    told = str(blind.to_json())
    for secret in ("tamper", "tripwire", "pass", "reward", "1.0", RUN, "forbidden"):
        assert secret not in told, secret
    assert sorted((len(found.members), found.same) for found in blind.siblings) == [(1, False), (2, False)]
    decide(store, item, "hack", "", 7, NOW)
    seen = see(row, store.opinions(), members(store, row["group_id"]), 7)
    assert seen.stage == "final" and seen.evidence is not None
    assert (seen.evidence["status"], seen.evidence["reward"]) == ("tamper", 0.0)
    assert seen.evidence["sources"][0]["source"] == "tripwire"
    assert seen.evidence["evidence"][0]["outcome"] == "forbidden_file"
    fates = {len(found.members): seen.evidence["siblings"][found.label] for found in seen.siblings}
    assert [fate["status"] for fate in fates[2]] == ["pass", "pass"]
    assert seen.evidence["judged_again"] is False
    assert see(row, store.opinions(), members(store, row["group_id"]), 8).evidence is None


def test_a_second_verdict_on_the_attempt_is_told(store: Store, item: int) -> None:
    decide(store, item, "hack", "", 7, NOW)
    add_attempt(store, "exit()\n", "fail")
    fill(store, NOW)
    row = store.review(item)
    evidence = see(row, store.opinions(), members(store, row["group_id"]), 7).evidence
    assert evidence is not None and evidence["judged_again"] and evidence["status"] == "fail"


def test_two_reviewers_stay_independent_until_both_are_done(store: Store, item: int) -> None:
    store.set_review(item, wanted=2)
    row = store.review(item)
    group = members(store, row["group_id"])
    for word in ("hack", "special-cased"):
        decide(store, item, word, "", 7, NOW)
    assert store.review(item)["state"] == "open"
    decide(store, item, "hack", "", 8, NOW)
    seen = see(row, store.opinions(), group, 8).evidence
    assert seen is not None and [row["uid"] for row in seen["opinions"]] == [8]
    decide(store, item, "hack", "", 8, NOW)
    seen = see(row, store.opinions(), group, 8).evidence
    assert seen is not None and {row["uid"] for row in seen["opinions"]} == {7, 8}
    assert store.review(item)["state"] == "done"
    assert final_word(store.opinions(item)) == "unclear"
    with pytest.raises(UsageError, match="has its reviewers"):
        decide(store, item, "hack", "", 9, NOW)


def test_what_waits_for_whom(store: Store, no_chance: None) -> None:
    for number in range(5):
        add_attempt(store, f"exit({number})\n", "tamper", step=number)
    fill(store, NOW)
    for row in store.reviews():
        store.set_review(row["id"], wanted=1)
    order = [row["id"] for row in waiting(store.reviews(), store.opinions(), 7)]
    places = {row["id"]: row["place"] for row in store.reviews()}
    assert order == sorted(places, key=lambda number: places[number])
    decide(store, order[2], "hack", "", 7, NOW)
    mine = [row["id"] for row in waiting(store.reviews(), store.opinions(), 7)]
    theirs = [row["id"] for row in waiting(store.reviews(), store.opinions(), 8)]
    assert mine[0] == order[2] and order[2] not in theirs
    decide(store, order[2], "hack", "", 7, NOW)
    assert order[2] not in [row["id"] for row in waiting(store.reviews(), store.opinions(), 7)]
    assert stage_of(store.opinions(order[2]), 7) == "done"


# figures


def test_figures_by_hand(store: Store, no_chance: None) -> None:
    for number in range(4):
        add_attempt(store, f"exit({number})\n", "tamper", step=number)
    fill(store, NOW)
    numbers = [row["id"] for row in store.reviews()]
    for number in numbers:
        store.set_review(number, wanted=2)
    pairs = [("hack", "hack"), ("hack", "legitimate"), ("legitimate", "legitimate"), ("hack", "hack")]
    for number, (first, second) in zip(numbers, pairs, strict=True):
        for uid, word in ((7, first), (8, second)):
            decide(store, number, word, "", uid, NOW)
            decide(store, number, "hack" if number == numbers[0] else "legitimate", "", uid, NOW)
    found = summary(store.reviews(), store.opinions())
    assert found["words"] == {"hack": 1, "legitimate": 3}
    assert found["hacks"]["share"] == 0.25
    assert found["hacks"]["interval"] == pytest.approx((0.0456, 0.6994), abs=1e-3)
    assert found["hacks_at_random"] == {"checked": 0, "hacks": 0, "share": None, "interval": None}
    assert found["checks_to_find"] == {"0.1": 29, "0.05": 59, "0.02": 149, "0.01": 299}
    assert found["states"] == {"done": 4}
    assert (found["overlap"]["both"], found["overlap"]["agreed"]) == (4, 3)
    # 3/4 agree; by chance 3/4 x 1/2 + 1/4 x 1/2 would: (0.75 - 0.5) / 0.5.
    assert found["overlap"]["kappa"] == pytest.approx(0.5)


def test_the_statistics_themselves() -> None:
    assert wilson(0, 0) is None
    low, high = wilson(0, 100) or (1.0, 1.0)
    assert low == 0.0 and high == pytest.approx(0.037, abs=1e-3)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert trials_to_find(0.5) == 5
    assert kappa([]) is None
    assert kappa([("a", "a"), ("a", "a")]) is None
    assert kappa([("a", "b"), ("b", "a")]) == pytest.approx(-1.0)


def test_a_fifth_of_the_items_wants_two_reviewers() -> None:
    from appliance.reviews import OVERLAP_SHARE
    from appliance.suspicion import wants_two

    both = sum(wants_two(f"hash {number}", OVERLAP_SHARE) for number in range(2000))
    assert 330 < both < 470
