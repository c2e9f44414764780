"""The formula of the reward, the ledger of verdicts, the seeds they are drawn with, and judging again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from appliance import ledger, rewards
from appliance.errors import IntegrityError, StoreError, UsageError
from appliance.examination import Examination, Outcome
from appliance.golds import GoldControl
from appliance.judge import Judge
from appliance.nouns import Attempt, Sampling, Signal, Task, Verdict
from appliance.pace import Pace
from appliance.paths import Paths
from appliance.replay import among, rejudge
from appliance.seal import KEY_BYTES, Seal, seal_at
from appliance.store import Store
from appliance.tasks import find_task, load_task
from appliance.verdicts import status
from appliance.yard import Yard

PACK = Path(__file__).parent / "data/pack_judging"
ADD = b"def add_two(a, b):\n    return a + b\n"
VERDICT = Verdict(
    "p/t", "pass", 1.0, {"hidden_share": Signal(1.0, 1.0, 1.0, "core")}, {"integrity": True}, (), (), {"judge_s": 0.1},
    "aa", "bb", "cc", env_hash="dd", seed=2**63 - 1,
)  # fmt: skip


def attempt(task: Task, index: int, source: bytes) -> Attempt:
    group = f"r/train/1/{task.key}"
    return Attempt(
        f"{group}/{index}", "r", group, 1, "train", task.key, task.task_hash, index, "complete", "base", "build", 7,
        Sampling(), (), "stop", {"solution.py": source.decode()},
    )  # fmt: skip


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.fixture
def add_two() -> Task:
    return find_task("judging/add_two", [PACK])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        yield opened


# the formula


def test_a_reward_is_a_step_between_nothing_and_one_and_never_falls_with_what_is_better() -> None:
    shares = [number / 8 for number in range(9)]
    for guess in (0.0, 0.5):
        found = [rewards.reward({}, rewards.core(share, "graded", guess)) for share in shares]
        assert found == sorted(found) and (found[0], found[-1]) == (0.0, 1.0)
        assert set(found) <= {step / rewards.REWARD_STEPS for step in range(rewards.REWARD_STEPS + 1)}
        assert {value for share, value in zip(shares, found, strict=True) if share <= guess} == {0.0}
    assert rewards.core(0.99, "binary") == 0.0
    assert (rewards.reward({}, 0.999), rewards.reward({}, 0.3)) == (0.95, 0.3)


def test_a_closed_gate_takes_all_and_an_open_one_gives_nothing() -> None:
    assert rewards.reward({"integrity": True}, 0.0) == 0.0
    assert rewards.reward({"integrity": True, "security": False}, 1.0) == 0.0


# the ledger


def test_every_verdict_is_entered_and_an_edited_one_shows(store: Store, add_two: Task) -> None:
    for index in range(3):
        store.add_attempt(attempt(add_two, index, ADD), "x", created=1.0)
        store.set_verdict(attempt(add_two, index, ADD).id, VERDICT, 5.0)
    first = attempt(add_two, 0, ADD).id
    store.set_verdict(first, replace(VERDICT, status="fail", reward=0.0), 6.0)
    store.add_rejudging(first, VERDICT, 7.0)
    entries = store.entries()
    assert ledger.verify(entries) == 5
    assert [entry.kind for entry in store.entries(first)] == ["judged", "judged", "rejudged"]
    assert store.verdict(first) == replace(VERDICT, status="fail", reward=0.0)
    assert store.misfits() == []
    for place, other in enumerate(entries):
        for name, value in asdict(other).items():
            changed = f"{value}0" if isinstance(value, str) else (value or 0) + 1
            edited = [*entries[:place], replace(other, **{name: changed}), *entries[place + 1 :]]
            with pytest.raises(IntegrityError, match="ledger"):
                ledger.verify(edited)
    with pytest.raises(IntegrityError):
        ledger.verify(entries[1:])


def test_a_verdict_changed_beside_the_ledger_is_found(store: Store, add_two: Task) -> None:
    made = [attempt(add_two, index, ADD) for index in range(2)]
    for one in made:
        store.add_attempt(one, "x", created=1.0)
        store.set_verdict(one.id, VERDICT, 5.0)
    for text in (b'{"reward": 1.0}', b"{"):
        with sqlite3.connect(store.path) as connection:
            connection.execute("UPDATE attempts SET verdict = ? WHERE id = ?", (text.decode(), made[1].id))
        assert store.misfits() == [made[1].id]


# seeds


def test_siblings_share_a_seed_and_nobody_else_does(tmp_path: Path, add_two: Task) -> None:
    ours, theirs = Seal(b"a" * KEY_BYTES), Seal(b"b" * KEY_BYTES)
    other = replace(add_two, task_hash="another")
    draws = [
        ours.seed("g1", add_two),
        ours.seed("g2", add_two),
        ours.seed("g1", other),
        theirs.seed("g1", add_two),
    ]
    assert len(set(draws)) == 4 and all(0 <= draw < 2**63 for draw in draws)
    assert ours.seed("g1", add_two) == draws[0]


def test_the_key_is_made_once_and_is_private(tmp_path: Path, add_two: Task) -> None:
    path = tmp_path / "data/verifier.key"
    start = threading.Barrier(8)

    def draw(_: int) -> int:
        start.wait()
        return seal_at(path).seed("g", add_two)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(draw, range(8)))) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["verifier.key"]
    path.write_bytes(b"short")
    with pytest.raises(IntegrityError, match="damaged"):
        seal_at(path)
    with pytest.raises(StoreError):
        seal_at(tmp_path / "data/verifier.key/below")


# judging again


@pytest.mark.jail
def test_a_verdict_replays_and_a_changed_task_or_verifier_is_told(
    judge: Judge, add_two: Task, tmp_path: Path
) -> None:
    for source in (ADD, b"def add_two(a, b):\n    return a\n", b"def add_two(a, b"):
        made = attempt(add_two, 0, source)
        before = judge.judge(add_two, {"solution.py": source}, seed=11)
        again = rejudge(judge, made, before, among({add_two.key: add_two}))
        assert again.same and again.same_verifier and again.after.seed == 11
        lenient = replace(before, status="pass", reward=1.0, verifier_hash="older")
        told = rejudge(judge, made, lenient, among({add_two.key: add_two}))
        assert told.same == (source == ADD) and not told.same_verifier
        if source != ADD:
            assert told.differences()["reward"] == (1.0, 0.0)
    with pytest.raises(UsageError, match="no verdict"):
        rejudge(judge, made, None, among({add_two.key: add_two}))
    shutil.copytree(add_two.folder, tmp_path / "add_two")
    (tmp_path / "add_two/instruction.md").write_text("Something else.\n")
    with pytest.raises(IntegrityError, match="not what it was"):
        rejudge(judge, made, before, among({add_two.key: load_task(tmp_path / "add_two")}))


@pytest.mark.jail
def test_a_failing_gold_masks_its_group_and_is_told_once(judge: Judge, add_two: Task, tmp_path: Path) -> None:
    shutil.copytree(add_two.folder, tmp_path / "add_two")
    (tmp_path / "add_two/solution/solution.py").write_text("def add_two(a, b):\n    return 0\n")
    broken = load_task(tmp_path / "add_two")
    heard: list[str] = []
    control = GoldControl(
        judge,
        Seal(b"k" * KEY_BYTES),
        lambda group, task, gold: heard.append(f"{group} {gold.status}"),
        share=1.0,
    )
    verdict = judge.judge(broken, {"solution.py": ADD}, seed=3)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: control.check("g", broken, verdict), range(8)))
    assert {(one.status, one.reward) for one in found} == {("task_broken", None)}
    assert found[0].evidence[0]["outcome"] == "gold_failed"
    assert heard == ["g fail"]
    assert control.check("h", add_two, verdict) is verdict
    masked = replace(verdict, status="infra", reward=None)
    assert control.check("g", broken, masked) is masked


def test_the_gold_control_takes_about_its_share_of_groups(judge: Judge) -> None:
    control = GoldControl(judge, Seal(b"k" * KEY_BYTES), lambda *_: None)
    assert 50 < sum(control._takes(f"g{number}") for number in range(5000)) < 150


# stopping early


def test_what_was_saved_is_what_the_skipped_layers_take_on_average(add_two: Task) -> None:
    pace = Pace()
    assert pace.saved_s(add_two, {"intake": 0.1}) == {}
    assert pace.saved_s(add_two, {"intake": 0.1, "quick": 1.0, "hidden": 2.0}) == {}
    assert pace.saved_s(add_two, {"intake": 0.1, "quick": 1.0, "hidden": 4.0}) == {}
    assert pace.saved_s(add_two, {"intake": 0.1, "quick": 1.0}) == {"saved_s": 3.0}
    assert pace.saved_s(replace(add_two, task_hash="new"), {"intake": 0.1}) == {}


@pytest.mark.jail
def test_a_verdict_says_what_it_saved(judge: Judge, add_two: Task) -> None:
    judge.judge(add_two, {"solution.py": ADD})
    wrong = judge.judge(add_two, {"solution.py": b"def add_two(a, b):\n    return 0\n"})
    assert [layer["name"] for layer in wrong.layers] == ["intake", "quick"]
    assert wrong.cost["saved_s"] > 0


# flaky cases


def test_a_flaky_hidden_case_is_in_neither_score_nor_denominator() -> None:
    outcomes = [
        Outcome("quick", 0, "correct"),
        Outcome("hidden", 0, "correct"),
        Outcome("hidden", 1, "wrong_value"),
    ]
    found = Examination(1, 2, tuple(outcomes))
    assert status(found) == "fail"
    assert status(found.without([("hidden", 1)])) == "pass"
    assert found.without([("hidden", 1)]).hidden_total == 1
    assert status(found.without([("hidden", 0)])) == "fail"
    assert found.without([("hidden", 0), ("hidden", 1)]) == found
    assert found.without([("quick", 0)]) == found
    unasked = Examination(1, 2, (Outcome("quick", 0, "correct"),))
    assert status(unasked.without([("hidden", 1)])) == "fail"


@pytest.mark.jail
def test_a_case_that_audits_found_flaky_decides_nothing(judge: Judge, add_two: Task) -> None:
    wrong_once = b"def add_two(a, b):\n    return a + b if (a, b) != (%s) else None\n"
    case = json.loads((Path(add_two.folder) / "tests/cases.json").read_bytes())[0]["args"]
    source = wrong_once % repr(tuple(case)).strip("()").encode()
    assert judge.judge(add_two, {"solution.py": source}).reward == 0.0
    spared = judge.judge(add_two, {"solution.py": source}, flaky=[("hidden", 0)])
    assert (spared.status, spared.reward) == ("pass", 1.0)
    assert judge.judge(add_two, {"solution.py": source}, flaky=[("hidden", 1)]).reward == 0.0
