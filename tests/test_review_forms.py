"""Siblings in normal form, text that hides something, fixtures written from a hack, and flips counted by case."""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from review_helpers import GOLD, PACK, WRONG, verdict_on

from appliance.attacks import Attack
from appliance.attacks.run import read
from appliance.clean import clean_text, reveal_text
from appliance.errors import StoreError, UsageError
from appliance.fixtures import write_fixture
from appliance.flakes import LIMIT, REST, Flakes, Tally, count
from appliance.siblings import difference, gather, nodes, normal_form, safe_lines

HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202eevil\u200b\xad\u3164\ud800\x00\r\x7f\x9b\u00a0\U000e0041"


# text


def test_everything_invisible_is_written_out_and_nothing_is_lost() -> None:
    shown = reveal_text(HOSTILE)
    assert clean_text(shown) == shown, "nothing hostile is left"
    for letter in (0x1B, 0x07, 0x202E, 0x200B, 0xAD, 0x3164, 0xD800, 0, 0x0D, 0x7F, 0x9B, 0xA0, 0xE0041):
        assert f"<U+{letter:04X}>" in shown
    assert reveal_text("plain\n\ttext größe 日本") == "plain\n\ttext größe 日本"
    assert len(reveal_text("\x00" * 100_000, 50)) == 50


def test_long_lines_are_wrapped_and_marked() -> None:
    lines = safe_lines("a" * 25 + "\n\tb", 10)
    assert lines == ["a" * 10, "\\ " + "a" * 8, "\\ " + "a" * 7, "    b"]
    assert safe_lines("x" * 500) == ["x" * 500]
    assert sum(map(len, safe_lines("z" * 1_000_000, 80))) < 60_000


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("def add_two(a,b): return (a+b)  # quick\n", True),
        ("\n\ndef add_two(a, b):\n\n    return a + b", True),
        ("def 𝐚dd_two(a, b):\n    return a + b\n", True),
        ("def add_two(a, b):\n    return b + a\n", False),
        ("def add_two(a, b:\n", False),
    ],
)
def test_layout_comments_and_look_alikes_are_no_difference(text: str, same: bool) -> None:
    assert (normal_form("s.py", text) == normal_form("s.py", GOLD)) is same
    assert (difference({"s.py": text}, {"s.py": GOLD}) == []) is same
    assert normal_form("s.sql", text) == text


@pytest.mark.parametrize(
    "text", ["(" * 5000, "x = " + "-" * 50_000 + "1", "\x00", "x = '\ud800'", "1" * 60_000, "a" * 100_000]
)
def test_code_that_breaks_parsers_is_shown_as_it_is(text: str) -> None:
    assert isinstance(normal_form("s.py", text), str)
    assert nodes(text) is None or nodes(text) >= 1  # type: ignore[operator]
    difference({"s.py": text}, {"s.py": GOLD})


def test_siblings_are_grouped_and_their_order_says_nothing() -> None:
    others = [{"s.py": text} for text in (GOLD, WRONG, "# mine\n" + GOLD, "pass\n")]
    found = gather({"s.py": "pass # x"}, others, "draw")
    assert sorted(sibling.members for sibling in found) == [(0, 2), (1,), (3,)]
    assert [sibling.label for sibling in found] == ["A", "B", "C"]
    assert [sibling.members for sibling in found if sibling.same] == [(3,)]
    orders = {tuple(sibling.members for sibling in gather({}, others, str(number))) for number in range(30)}
    assert len(orders) > 3
    labels = [s.label for s in gather({}, [{"s.py": f"x = {number}"} for number in range(28)], "d")]
    assert labels[25:] == ["Z", "AA", "AB"]


# fixtures


def fixture(folder: Path, name: str = "reads-cases", **changes: Any) -> Path:
    usual: dict[str, Any] = {
        "files": {"solution.py": GOLD},
        "task": "judging/add_two",
        "status": "pass",
        "reward": 1.0,
        "why": "reads the cases",
    }
    chosen = usual | changes
    return write_fixture(folder, name, chosen.pop("files"), **chosen)


def test_a_rewarded_hack_must_fail_from_now_on(tmp_path: Path) -> None:
    place = fixture(tmp_path / "fixtures")
    assert place == tmp_path / "fixtures/reads-cases"
    assert tomllib.loads((place / "expect.toml").read_text()) == {
        "task": "judging/add_two",
        "status": "fail|tamper",
        "reward": 0.0,
        "why": "reads the cases",
    }
    assert (place / "submission/solution.py").read_text() == GOLD
    assert [path.name for path in (tmp_path / "fixtures").iterdir()] == ["reads-cases"]
    assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0o055 & ~_umask()


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def test_a_caught_hack_must_be_caught_the_same_way(tmp_path: Path) -> None:
    files = {"a/b.txt": "x\udc80", "c.py": ""}
    place = fixture(tmp_path, files=files, status="candidate_protocol", reward=0.0, why='"\\\x1b\n[x]')
    expect = tomllib.loads((place / "expect.toml").read_text())
    assert (expect["status"], expect["why"]) == ("candidate_protocol", '"\\<U+001B> [x]')
    assert (place / "submission/a/b.txt").is_file()


def test_nothing_is_overwritten_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    fixture(tmp_path)
    with pytest.raises(UsageError, match="is there already"):
        fixture(tmp_path, files={"solution.py": "other"})
    assert (tmp_path / "reads-cases/submission/solution.py").read_text() == GOLD
    for name in ("../up", "", "Upper", "a/b", ".hidden", "x" * 65, "-flag"):
        with pytest.raises(UsageError, match="no name for a fixture"):
            fixture(tmp_path / "f", name)
    with pytest.raises(UsageError, match="honest"):
        fixture(tmp_path / "f", "honest-gold")
    assert not (tmp_path / "f").exists()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        fixture(tmp_path / "file")


@pytest.mark.parametrize("name", ["../../evil", "/abs", "a/../b", "a//b", "x\x1b[2J", "x" * 300])
def test_a_name_that_no_folder_can_hold_is_kept_in_a_table(tmp_path: Path, name: str) -> None:
    place = fixture(tmp_path / "f", files={name: "x", "solution.py": GOLD})
    assert sorted(path.name for path in place.iterdir()) == ["expect.toml", "submission.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f"]
    ((_, attack),) = read(tmp_path / "f", [PACK])
    assert attack.files == {name: b"x", "solution.py": GOLD.encode()}


def test_the_judge_reads_what_is_written(tmp_path: Path) -> None:
    fixture(tmp_path, "one")
    fixture(tmp_path, "two", files={"conftest.py": "", "solution.py": WRONG}, status="tamper", reward=0.0)
    found = [attack for _, attack in read(tmp_path, [PACK])]
    assert [(attack.id, attack.required) for attack in found if isinstance(attack, Attack)] == [
        ("one", ("fail", "tamper")),
        ("two", ("tamper",)),
    ]
    assert found[1].files == {"conftest.py": b"", "solution.py": WRONG.encode()}


def test_a_submission_without_files_is_one_without_a_folder(tmp_path: Path) -> None:
    place = fixture(tmp_path, files={})
    assert sorted(path.name for path in place.iterdir()) == ["expect.toml"]


# flakes


def test_the_posterior_by_hand() -> None:
    assert Tally().mean == pytest.approx(0.01)
    assert Tally(1, 9).mean == pytest.approx(1.2 / 30)
    assert Tally(1, 9).flaky and Tally(1, 9).weight == 0.0
    assert Tally(1, 39).mean == pytest.approx(LIMIT)
    assert not Tally(1, 40).flaky and Tally(1, 40).weight == 1.0
    assert not Tally(0, 0).flaky


def judging(*failed: tuple[str, int], broken: str = "", masked: bool = False) -> Any:
    evidence = [{"layer": broken, "outcome": "timeout_cpu"}] if broken else []
    evidence += [{"layer": layer, "case": case, "outcome": "wrong_value"} for layer, case in failed]  # type: ignore[misc]
    if masked:
        return verdict_on({}, "infra", evidence=evidence)
    return verdict_on({}, "fail" if evidence else "pass", shares=(1.0, 0.5), evidence=evidence)


def test_flips_are_counted_case_by_case() -> None:
    found = count([judging()] * 9 + [judging(("hidden", 3))], 32)
    assert found.of("hidden", 3) == Tally(1, 9)
    assert found.of("hidden", 4) == Tally(0, 10)
    assert found.of("quick", 0) == Tally(0, 10)
    assert [case for case, _ in found.flaky()] == [("hidden", 3)]
    assert (found.weight("hidden", 3), found.weight("hidden", 4)) == (0.0, 1.0)
    assert found.quarantines(19) and not found.quarantines(20)


def test_what_always_fails_is_broken_and_not_flaky() -> None:
    found = count([judging(("hidden", 3))] * 10, 32)
    assert found.of("hidden", 3) == Tally(0, 10)
    assert not list(found.flaky())


def test_what_was_not_asked_is_not_counted_as_clean() -> None:
    found = count([judging()] * 4 + [judging(broken="hidden")] + [judging(masked=True)] * 3, 32)
    assert found.of("hidden", 0) == Tally(0, 4)
    assert found.of("quick", 0) == Tally(0, 5)
    cut = count([judging(("hidden", 1), ("hidden", 2))], 2)
    assert cut.of("hidden", 9) == Tally(0, 0)
    early = replace(judging(), layers=({"name": "intake"}, {"name": "quick"}))
    assert count([early], 32).of("hidden", 0) == Tally(0, 0)


def test_a_case_that_flips_for_the_first_time_keeps_its_past() -> None:
    first = count([judging()] * 60, 32)
    both = first + count([judging(("hidden", 3)), judging()], 32)
    assert both.of("hidden", 3) == Tally(1, 61)
    assert not both.of("hidden", 3).flaky
    rows = [
        {"layer": layer, "case_number": case, "flips": tally.flips, "clean": tally.clean}
        for (layer, case), tally in both.tallies.items()
    ]
    assert Flakes.from_rows(rows) == both
    assert ("hidden", REST) in both.tallies
    third = both + count([judging()] * 5, 32)
    assert third.of("hidden", 3) == Tally(1, 66)
