"""The table `[quality]`, the formula, and the signals that need no jail."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from signal_helpers import gold, task_named

from appliance import attacks, quality
from appliance.errors import NotFoundError, TaskError
from appliance.nouns import Signal
from appliance.quality import HIGHEST_BETA, Spec, blended, factor, read
from appliance.sandbox.images import tools
from appliance.signals import Exhibit, Reading, Wanted, duplication, performance, size
from appliance.signals.kept_values import Kept
from appliance.signals.performance import ROUNDS, Timed, compared, slowness
from appliance.signals.start_tree import languages
from appliance.signals.types import importable
from appliance.tasks import find_task, load_pack

WHERE = "pool.toml [quality]"
TRIALS = 2000


def asked(**tables: Any) -> Spec:
    return read(tables, WHERE)


def test_no_table_measures_nothing() -> None:
    spec = read(None, WHERE)
    assert not spec
    assert quality.fingerprint(spec) == ""
    assert blended(spec, 1.0, {}) == 1.0


def test_shares_are_made_to_sum_to_one() -> None:
    spec = asked(
        static={"role": "secondary", "weight": 3},
        types={"role": "secondary"},
        size={"role": "monitor"},
        security={"role": "gate"},
    )
    assert spec.beta == quality.DEFAULT_BETA
    assert {name: wanted.weight for name, wanted in spec.signals.items()} == {
        "static": 0.75,
        "types": 0.25,
        "size": 0.0,
        "security": 0.0,
    }


def test_without_secondary_signals_the_core_is_everything() -> None:
    spec = asked(beta=0.2, security={"role": "gate"})
    assert spec.beta == 0.0
    assert blended(spec, 1.0, {"security": Signal(9.0, 0.0, 0.0, "gate")}) == 1.0


def bad(table: Mapping[str, Any]) -> TaskError:
    with pytest.raises(TaskError) as caught:
        read(table, WHERE)
    assert WHERE in str(caught.value)
    return caught.value


GATE = {"role": "gate"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"statik": {"role": "monitor"}}, ("'statik'", "did you mean 'static'?")),
        ({"static": {"role": "secundary"}}, ("[static]", "did you mean 'secondary'?")),
        ({"static": {"role": "core"}}, ("[static]", "'core'")),
        ({"static": {}}, ("[static]", "'role' is missing")),
        ({"static": {"role": "secondary", "wight": 2}}, ("'wight'", "did you mean 'weight'?")),
        ({"static": {"role": "secondary", "weight": 0}}, ("'weight'", "above 0")),
        ({"static": {"role": "secondary", "weight": math.inf}}, ("weight",)),
        ({"static": {"role": "secondary", "weight": math.nan}}, ("weight",)),
        ({"static": {"role": "gate", "weight": 1}}, ("'weight'", "'secondary'")),
        ({"static": {"role": "secondary", "at_least": 0.5}}, ("'at_least'", "'gate'")),
        ({"static": {"role": "gate", "at_least": 1.5}}, ("gate",)),
        ({"static": {"role": "gate", "at_least": math.nan}}, ("at_least",)),
        ({"static": {"role": "gate", "allowance": -1}}, ("'allowance'",)),
        ({"size": {"role": "gate", "allowance": 1}}, ("unknown key 'allowance'",)),
        ({"static": GATE, "beta": 0.21}, ("'beta'", "0.2")),
        ({"static": GATE, "beta": -0.01}, ("'beta'",)),
        ({"static": GATE, "beta": math.nan}, ("'beta'",)),
        ({"static": GATE, "beta": "much"}, ("'beta'", "not a number")),
        ({"static": "gate"}, ("'static'", "not a table")),
        ({"beta": 0.1}, ("names no signal",)),
    ],
    ids=repr,
)
def test_a_bad_table_is_refused_by_name(table: Mapping[str, Any], words: tuple[str, ...]) -> None:
    told = str(bad(table))
    assert all(word in told for word in words), told


@pytest.mark.parametrize("beta", [0, 0.0, 0.1, HIGHEST_BETA])
def test_beta_may_be_anything_within_its_bounds(beta: float) -> None:
    assert read({"beta": beta, "static": {"role": "secondary"}}, WHERE).beta == beta


def random_spec(rng: random.Random) -> Spec:
    names = rng.sample(quality.signal_names(), rng.randint(1, len(quality.signal_names())))
    table: dict[str, Any] = {"beta": rng.uniform(0, HIGHEST_BETA)}
    for name in names:
        role = rng.choice(["secondary", "secondary", "gate", "monitor"])
        table[name] = {"role": role} | ({"weight": rng.uniform(0.01, 9)} if role == "secondary" else {})
    return read(table, WHERE)


def random_signals(spec: Spec, rng: random.Random) -> dict[str, Signal]:
    return {
        name: Signal(0.0, rng.choice([0.0, 1.0, rng.random()]), wanted.weight, wanted.role)
        for name, wanted in spec.signals.items()
    }


def test_the_formula_is_bounded_and_full_only_without_a_fault() -> None:
    rng = random.Random(1)
    for _ in range(TRIALS):
        spec = random_spec(rng)
        signals = random_signals(spec, rng)
        assert 0 <= factor(spec, signals) <= 1
        core = rng.choice([0.0, 1.0, rng.random()])
        found = blended(spec, core, signals)
        assert 0 <= found <= 1
        assert (1 - HIGHEST_BETA) * core <= found + 1e-12
        assert found <= core + 1e-12
        perfect = {name: Signal(0.0, 1.0, known.weight, known.role) for name, known in signals.items()}
        assert blended(spec, 1.0, perfect) == 1.0


def test_the_formula_never_falls_when_a_signal_rises() -> None:
    rng = random.Random(2)
    for _ in range(TRIALS):
        spec = random_spec(rng)
        low = random_signals(spec, rng)
        name = rng.choice(sorted(low))
        risen = min(1.0, low[name].value + rng.random())
        high = {**low, name: Signal(0.0, risen, low[name].weight, low[name].role)}
        assert blended(spec, 1.0, low) <= blended(spec, 1.0, high)
        if low[name].role != "secondary":
            assert blended(spec, 1.0, low) == blended(spec, 1.0, high)


def test_secondary_points_exist_only_with_a_complete_core() -> None:
    """G6: style, collected while the work is not done, is worth nothing at all."""
    rng = random.Random(3)
    for _ in range(TRIALS):
        spec = random_spec(rng)
        core = rng.choice([0.0, rng.uniform(0, 0.999)])
        best, worst = (
            {name: Signal(0.0, value, wanted.weight, wanted.role) for name, wanted in spec.signals.items()}
            for value in (1.0, 0.0)
        )
        assert blended(spec, core, best) == blended(spec, core, worst) == (1 - spec.beta) * core
        assert blended(spec, 0.0, best) == 0.0
        assert blended(spec, core, best) <= blended(spec, 1.0, worst)


def test_every_signal_keeps_the_contract() -> None:
    assert len(quality.signal_names()) >= 7
    for name in quality.signal_names():
        signal = quality.load_signal(name)
        assert set(signal.ROLES) <= {"secondary", "gate", "monitor"}
        assert set(signal.OPTIONS) <= {"allowance"}
        assert set(signal.TOOLS) <= set(tools.TOOLS)
        assert signal.CONFIG
        assert callable(signal.read)
        assert signal.applies(task_named("longest_word")) == ""


def test_the_fingerprint_changes_with_what_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = asked(static={"role": "secondary"})
    before = quality.fingerprint(spec)
    assert before == quality.fingerprint(asked(static={"role": "secondary"}))
    others = [
        asked(static={"role": "gate"}),
        asked(types={"role": "secondary"}),
        asked(static={"role": "secondary", "allowance": 2}),
        asked(static={"role": "secondary"}, beta=0.2),
    ]
    assert len({before, *map(quality.fingerprint, others)}) == 5
    monkeypatch.setattr(quality.load_signal("static"), "CONFIG", "ruff check --select=ALL")
    assert quality.fingerprint(spec) != before
    monkeypatch.undo()
    monkeypatch.setattr(tools, "TOOLS", ("bandit", "mypy"))
    assert quality.fingerprint(spec) != before


def test_a_tool_that_is_not_installed_is_said_when_a_task_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    spec, task = asked(static={"role": "monitor"}, size={"role": "monitor"}), task_named("longest_word")
    quality.check(spec, task)
    monkeypatch.setattr(tools, "TOOLS", ("bandit", "mypy", "a-tool-that-nobody-has"))
    with pytest.raises(NotFoundError, match=r"pool.toml \[quality.static\]: ruff is not installed") as caught:
        quality.check(spec, task)
    assert "requirements.lock" in caught.value.remedy
    with pytest.raises(NotFoundError, match="a-tool-that-nobody-has is not installed"):
        tools.prepare_tools(tmp_path)
    quality.check(asked(size={"role": "monitor"}), task)


def test_a_signal_that_means_nothing_for_a_task_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from appliance.kinds import function
    from appliance.signals import start_tree

    task = task_named("longest_word")
    monkeypatch.setattr(function, "SOURCE", "query.sql")
    monkeypatch.setattr(start_tree, "_starts", Kept(1))
    monkeypatch.setattr(start_tree, "_golds", Kept(1))
    for name in ("static", "types", "security", "suppressions"):
        with pytest.raises(TaskError, match=rf"\[quality.{name}\]: no file of a function task is in Python"):
            quality.check(asked(**{name: {"role": "monitor"}}), task)
    quality.check(asked(size={"role": "monitor"}), task)


def test_languages_follow_from_what_a_task_is_answered_with() -> None:
    """The tasks that attacks are tried on: no tool for Python is asked about a program in C or a script."""
    pack = Path(attacks.__file__).parent / "pack"
    found = {task.key.partition("/")[2]: languages(task) for task in load_pack(pack)}
    assert found["stdio-sums"] == found["function-describe"] == {"python"}
    assert found["stdio-tally"] == {"text"}
    assert found["shell-logs"] == {"shell"}
    task = find_task("attack/shell-logs", [pack])
    for name in ("static", "types", "security", "suppressions", "performance"):
        with pytest.raises(TaskError, match=rf"pool.toml \[quality.{name}\]"):
            quality.check(asked(**{name: {"role": "monitor"}}), task)
    quality.check(asked(size={"role": "monitor"}, duplication={"role": "monitor"}), task)


def exhibit(
    now: Mapping[str, str], start: Mapping[str, str], best: Mapping[str, str] | None = None
) -> Exhibit:
    task: Any = task_named("longest_word")
    nobody: Any = None
    bodies = [{name: text.encode() for name, text in files.items()} for files in (now, start, best or now)]
    return Exhibit(task, *bodies, nobody, nobody, 0, lambda: 0.0)


MONITOR = Wanted("monitor")
CODE = [f"    total_{n} = first[{n}] + second[{n}] * {n}" for n in range(40)]


def text(*lines: str) -> str:
    return "\n".join(["def work(first, second):", *lines, ""])


def read_size(now: str, start: str, best: str) -> Reading:
    return size.read(exhibit({"a.py": now}, {"a.py": start}, {"a.py": best}), MONITOR)


def test_size_is_measured_by_the_gold() -> None:
    start, best = text(), text(*CODE[:5])
    assert read_size(best, start, best) == Reading(5.0, 1.0)
    assert read_size(text(*CODE[:20]), start, best).value == 1.0
    large = read_size(text(*CODE), start, best)
    assert (large.raw, large.remarks[0].code) == (40.0, "large")
    assert 0 < large.value < 1
    assert read_size(text(*CODE, *(f"    x{n} = {n}" for n in range(400))), start, best).value == 0.0
    # Moving lines changes nothing, and a line cannot be made of many without counting as many.
    assert read_size(text(*reversed(CODE)), text(*CODE), best).raw == 0.0
    assert read_size(text("; ".join(line.strip() for line in CODE)), start, best).raw >= 10.0


def test_size_takes_time_in_proportion_to_a_submission() -> None:
    """Lines that are all alike or all different: a comparison that looks for the shortest edit would take minutes."""
    many = "\n".join("}" for _ in range(30_000)) + "\n".join(map(str, range(10_000)))
    assert read_size(many, many[::-1], many).raw > 0


def read_duplication(now: Mapping[str, str], start: Mapping[str, str]) -> Reading:
    return duplication.read(exhibit(now, start), MONITOR)


def test_only_new_repetition_counts() -> None:
    once, twice = text(*CODE[:8]), text(*CODE[:8]) + text(*CODE[:8])
    assert read_duplication({"a.py": once}, {}) == Reading(0.0, 1.0)
    repeated = read_duplication({"a.py": twice}, {"a.py": once})
    assert (repeated.raw, repeated.value) == (18.0, 0.0)
    assert repeated.remarks[0].file == "a.py"
    assert read_duplication({"a.py": twice + "x = 1\n"}, {"a.py": twice}).value == 1.0
    # Comments, blank lines and indentation hide nothing; another file does not either.
    disguised = "\n\n".join(f"        {line}  # {n}" for n, line in enumerate(CODE[:8]))
    assert read_duplication({"b.py": disguised}, {"a.py": once}).value == 0.0
    assert read_duplication({"b.py": text(*CODE[20:])}, {"a.py": once}).value == 1.0


def test_short_and_structural_repetition_is_nobodys_fault() -> None:
    cases = "".join(f"    if kind == {n}:\n        return first[{n}]\n" for n in range(12))
    assert read_duplication({"a.py": text(cases)}, {}).value == 1.0
    brackets = "x = [\n" + "    [\n        1,\n    ],\n" * 2 + "]\n"
    assert read_duplication({"a.py": brackets}, {}).value == 1.0


def test_what_is_too_much_to_compare_is_not_compared() -> None:
    found = read_duplication({"a.py": "x = 1\n" * (duplication.MOST_LINES + 1)}, {})
    assert found.value == 0.0
    assert "too many" in found.remarks[0].message


def runs(gold_s: float, candidate_s: float, idle_s: float = 0.01) -> dict[str, list[Timed]]:
    """The least of each, with noise upon it."""
    times = {"gold": gold_s, "candidate": candidate_s, "idle": idle_s}
    return {name: [Timed(least * (1 + n)) for n in range(ROUNDS)] for name, least in times.items()}


@pytest.mark.parametrize("candidate_s", [0.11, 0.05, 0.031, 0.119])
def test_within_the_dead_zone_and_faster_is_as_good_as_the_gold(candidate_s: float) -> None:
    found = compared(runs(0.11, candidate_s))
    assert (found.value, found.remarks, found.review) == (1.0, (), "")


def test_slower_is_worth_less_and_never_more() -> None:
    rng = random.Random(4)
    for _ in range(TRIALS):
        low, high = sorted(rng.uniform(0, 10) for _ in range(2))
        assert 0 <= slowness(high) <= slowness(low) <= 1
    assert [slowness(1.0), slowness(1.1), slowness(4.0), slowness(math.inf)] == [1.0, 1.0, 0.0, 0.0]
    assert 0.5 < slowness(1.5) < slowness(1.2) < 1
    slow = compared(runs(0.11, 0.26))
    assert (round(slow.raw, 3), slow.remarks[0].code) == (2.5, "slow")


def test_what_is_hard_to_believe_is_shown_to_people_and_earns_nothing() -> None:
    """F8: below a fifth of the gold, or no slower than doing nothing."""
    fast, nothing = compared(runs(0.11, 0.025)), compared(runs(0.11, 0.0101))
    assert fast.value == nothing.value == compared(runs(0.11, 0.11)).value
    assert "5 times as fast" in fast.review
    assert nothing.review == "as fast as doing nothing"
    assert compared(runs(0.11, 0.0001)).raw == 0.0


def test_what_cannot_be_timed_is_said_and_costs_nothing() -> None:
    assert "too little" in compared(runs(0.0115, 0.5)).not_applicable
    assert "too little" in performance.too_quick(0.013, 0.01)
    assert "too little" in performance.too_quick(0.12, 0.1)
    assert performance.too_quick(0.015, 0.01) == performance.too_quick(0.13, 0.1) == ""
    unknown = {**runs(0.11, 0.11), "idle": [Timed(None)] * ROUNDS}
    assert "not known" in compared(unknown).not_applicable
    wrong = {**runs(0.11, 0.11), "gold": [Timed(0.11, "a wrong answer")] * ROUNDS}
    assert "gold" in compared(wrong).not_applicable


def test_turns_go_forth_and_back() -> None:
    orders = [performance._order(turn) for turn in range(4)]
    assert orders[0] == orders[2] == tuple(reversed(orders[1]))
    assert ROUNDS >= 5
    assert ROUNDS % 2 == 0


def test_files_get_names_that_mypy_takes_for_modules() -> None:
    names = [
        "my-dir/x.py",
        "my_dir/x.py",
        "_my_dir/x.py",
        "a b/--config-file=x.py",
        "@args.py",
        "p/__init__.py",
    ]
    found = importable(dict.fromkeys(names, b""))
    assert sorted(found.values()) == sorted(names)
    assert found["my_dir/x.py"] == "my_dir/x.py"
    assert found["p/__init__.py"] == "p/__init__.py"
    assert all(part.isidentifier() for inside in found for part in inside[:-3].split("/"))


def test_what_is_kept_is_bounded_and_made_once() -> None:
    kept: Kept[int] = Kept(2)
    made: list[int] = []

    def make(value: int) -> int:
        made.append(value)
        return value

    for key in (1, 2, 1, 3, 1, 2):
        assert kept.get(key, lambda key=key: make(key)) == key  # type: ignore[misc]
    assert made == [1, 2, 3, 2]


def test_the_gold_of_the_pack_is_the_measure_of_size() -> None:
    task = task_named("longest_word")
    assert size.change_size({"solution.py": task.start.encode()}, {"solution.py": gold(task)}) == 6
