"""The kind `repo` on real jails: every attack and every honest submission, and what cannot be settled by chance."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from appliance import attacks as attacks_package
from appliance.attacks import repo as attacks
from appliance.errors import TaskError
from appliance.judge import Judge, read_submission
from appliance.kinds import repo
from appliance.kinds.repo_tree import matches
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.sandbox import image as images
from appliance.sandbox.image import interpreter_at
from appliance.tasks import load_task
from appliance.yard import Yard

PACK = Path(attacks_package.__path__[0]) / "pack"
SPANS, VERSIONS = load_task(PACK / "repo_spans"), load_task(PACK / "repo_versions")
ATTACKS = list(attacks.attacks(SPANS))
HONEST = list(attacks.honest(SPANS))
PARSE = "spans/parse.py"
GOLD = (PACK / "repo_spans/solution" / PARSE).read_bytes()


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield yard


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


def test_there_is_an_attack_for_every_family() -> None:
    assert {attack.id[0] for attack in ATTACKS} == set("ABCEGW")
    assert len(ATTACKS) >= 90
    assert len({(attack.id, attack.name) for attack in ATTACKS}) == len(ATTACKS)
    assert len({honest.variant for honest in HONEST}) == len(HONEST)


def named(variant: str) -> Mapping[str, bytes]:
    """The files of an honest variant or of an attack."""
    found = {honest.variant: honest.files for honest in HONEST} | {
        attack.name: attack.files for attack in ATTACKS
    }
    return found[variant]


@pytest.mark.jail
@pytest.mark.parametrize(
    ("variant", "status"),
    [
        ("gold", "pass"),
        ("alternative", "pass"),
        ("random", "fail"),
        ("by-the-clock", "fail"),
        ("lenient-equality", "fail"),
        ("wrong-exception-of-two-kinds", "fail"),
        ("wrong-like-a-mutant", "fail"),
        ("patch-the-tally", "tamper"),
        ("always-equal", "tamper"),
        ("read-the-form-too", "tamper"),
    ],
)
def test_the_draw_does_not_change_the_status(judge: Judge, variant: str, status: str) -> None:
    files = named(variant)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: judge.judge(SPANS, files, seed=seed).status, range(1, 7)))
    assert set(found) == {status}


@pytest.mark.jail
def test_a_verdict_repeats_under_its_seed(judge: Judge) -> None:
    source = (
        GOLD
        + b"\nimport random\n_first = parse\ndef parse(text): return _first(text) + random.randrange(2)\n"
    )
    for files in ({PARSE: source}, named("wrong-twice")):
        first, again = (judge.judge(SPANS, files, seed=5) for _ in range(2))
        assert (first.status, first.evidence) == (again.status, again.evidence)


@pytest.mark.jail
@pytest.mark.parametrize("task", [SPANS, VERSIONS], ids=lambda task: task.key)
def test_the_lists_and_the_controls_hold(judge: Judge, yard: Yard, task: Task) -> None:
    assert repo.check_lists(task, yard.of(task)) == []
    for artefacts, wanted in repo.controls(task).values():
        assert judge.judge(task, artefacts).reward == wanted


@pytest.mark.jail
def test_a_verdict_names_its_layers_and_no_expected_value(judge: Judge) -> None:
    right = judge.judge(SPANS, {PARSE: GOLD})
    assert {layer["name"] for layer in right.layers} == {"intake", "quick", "hidden", "suite"}
    assert right.signals["public_share"].raw == 7.0
    assert right.signals["hidden_share"].raw == 26.0
    assert right.cost["cpu_s"] > 0
    wrong = judge.judge(SPANS, {PARSE: GOLD.replace(b"sign * seconds", b"sign * seconds + (len(text) > 4)")})
    assert {item["outcome"] for item in wrong.evidence} == {"failed"}
    assert not any(number in json.dumps(wrong.evidence) for number in ("5400", "788645", "8100", "5401"))


@pytest.mark.jail
def test_a_regression_closes_its_gate(judge: Judge) -> None:
    for variant in ("regression", "hidden-regression"):
        verdict = judge.judge(SPANS, named(variant))
        assert (verdict.status, verdict.gates["regressions"]) == ("fail", False)
    assert judge.judge(SPANS, named("wrong-twice")).gates["regressions"]


@pytest.mark.jail
def test_a_graded_reward_begins_above_chance(judge: Judge) -> None:
    solution = PACK / "repo_versions/solution"
    order = {"src/verlib/version.py": (solution / "src/verlib/version.py").read_bytes()}
    bump = {"src/verlib/bump.py": (solution / "src/verlib/bump.py").read_bytes()}
    # 9 of 11, then 2 of 11: the square of twice the share, less one, down to a step.
    assert (judge.judge(VERSIONS, order).status, judge.judge(VERSIONS, order).reward) == ("fail", 0.4)
    assert judge.judge(VERSIONS, bump).reward == 0.0
    assert judge.judge(VERSIONS, {**order, **bump}).reward == 1.0


@pytest.mark.jail
def test_a_forger_gets_nothing_of_a_graded_reward(judge: Judge) -> None:
    forged = b'\nimport __main__\n__main__.Tally.word = property(lambda self: "passed")\n'
    path = "src/verlib/bump.py"
    start = (PACK / "repo_versions/environment/repo" / path).read_bytes()
    verdict = judge.judge(VERSIONS, {path: start + forged})
    assert (verdict.status, verdict.reward) == ("tamper", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACK / "repo_spans", tmp_path / "task"))


@pytest.mark.jail
def test_a_twin_that_the_gold_solution_passes_breaks_the_task(judge: Judge, yard: Yard, folder: Path) -> None:
    several = "(ValueError, TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError)"
    source = (folder / "solution" / PARSE).read_text()
    source = source.replace("import re\n", f"import re\n\nKINDS = {several}\n").replace(
        'raise SpanError(text, f"unit', 'raise type("E", KINDS, {})(f"{text} unit'
    )
    (folder / "solution" / PARSE).write_text(source)
    task = load_task(folder)
    verdict = judge.judge(task, {PARSE: source.encode()})
    assert (verdict.status, verdict.reward) == ("task_broken", None)
    faults = repo.check_lists(task, yard.of(task))
    assert len(faults) == 2
    assert all("test_out_of_order" in fault or "test_twice" in fault for fault in faults)


@pytest.mark.jail
def test_a_listed_test_that_passes_before_is_named(yard: Yard, folder: Path) -> None:
    manifest = json.loads((folder / "tests/manifest.json").read_text())
    manifest["PASS_TO_PASS"].remove("tests.test_compound.KeptTest.test_window_text")
    manifest["FAIL_TO_PASS"].append("tests.test_compound.KeptTest.test_window_text")
    (folder / "tests/manifest.json").write_text(json.dumps(manifest))
    task = load_task(folder)
    assert repo.check_lists(task, yard.of(task)) == [
        "tests.test_compound.KeptTest.test_window_text: passes on the untouched code base"
    ]


def _manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        path = folder / "tests/manifest.json"
        found = json.loads(path.read_text())
        change(found)
        path.write_text(json.dumps(found))

    return apply


def _pool(old: str, new: str, without: str = "") -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        path = folder / "pool.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new).replace(without, "") if without else text.replace(old, new))

    return apply


F2P, P2P = "FAIL_TO_PASS", "PASS_TO_PASS"
FAULTS: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "no manifest",
        lambda folder: (folder / "tests/manifest.json").unlink(),
        "tests/manifest.json is missing",
    ),
    ("no json", lambda folder: (folder / "tests/manifest.json").write_text("["), "write a JSON object"),
    ("unknown list", _manifest(lambda found: found.update(FAILS=[])), "unknown key 'FAILS'"),
    (
        "nothing to fix",
        _manifest(lambda found: found.update({F2P: [], "wrong_values": {}})),
        "no FAIL_TO_PASS",
    ),
    (
        "unknown test",
        _manifest(lambda found: found[F2P].append("tests.test_compound.CompoundTest.test_x")),
        "test_x",
    ),
    (
        "unknown file",
        _manifest(lambda found: found[F2P].append("tests.test_y.Test.test_x")),
        "is in no file of",
    ),
    ("seen test", _manifest(lambda found: found[F2P].append(found[P2P].pop(0))), "is in no file of"),
    ("twice", _manifest(lambda found: found[P2P].append(found[F2P][0])), "listed twice"),
    ("all hidden", _manifest(lambda found: found.update({P2P: found[P2P][7:]})), "that the candidate sees"),
    (
        "wrong values of nothing",
        _manifest(lambda found: found["wrong_values"].update(x=["1"])),
        "'x' is not in",
    ),
    (
        "wrong values that are none",
        _manifest(lambda found: found["wrong_values"].update({found[F2P][0]: ["parse()"]})),
        "Python literals",
    ),
    ("probe of nothing", lambda folder: (folder / "tests/probe.json").write_text("[]"), "an empty one"),
    (
        "probe without a target",
        lambda folder: (folder / "tests/probe.json").write_text('[{"call": "x", "args": [], "expected": 1}]'),
        "case 0: field 'call'",
    ),
    ("allowed tests", _pool('"spans/**/*.py"', '"**/*.py"', '"tests/**", '), "it covers tests/helpers.py"),
    ("an empty glob", _pool('"README.md"', '""'), "field 'ignore' is not a list of globs"),
    (
        "hidden test in sight",
        lambda folder: shutil.copy(
            folder / "tests/suite/tests/test_compound.py", folder / "environment/repo/tests/test_compound.py"
        ),
        "stands in environment/repo too",
    ),
    (
        "gold not allowed",
        _pool('"spans/**/*.py"', '"spans/window.py"'),
        "solution/spans/parse.py is not covered",
    ),
    ("no base", lambda folder: shutil.rmtree(folder / "environment/repo"), "environment/repo is missing"),
    ("no gold", lambda folder: shutil.rmtree(folder / "solution"), "solution is missing"),
]


@pytest.mark.parametrize(
    ("change", "said"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_a_task_that_cannot_be_judged_is_refused(
    folder: Path, change: Callable[[Path], object], said: str
) -> None:
    change(folder)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert said in str(caught.value)
    assert str(folder) in str(caught.value)


def test_few_tests_without_a_probe_are_refused(folder: Path) -> None:
    (folder / "tests/probe.json").unlink()
    load_task(folder)
    _manifest(lambda found: found.update({F2P: found[F2P][8:], "wrong_values": {}}))(folder)
    with pytest.raises(TaskError, match=r"add tests/probe\.json"):
        load_task(folder)


def test_globs_stay_in_their_folder() -> None:
    assert matches("src/a/b.py", ["src/**/*.py"])
    assert matches("src/b.py", ["src/**/*.py"])
    assert not matches("src/b.txt", ["src/**/*.py"])
    assert not matches("src/a/b.py", ["src/*.py"])
    assert not matches("xsrc/b.py", ["src/**"])
    assert matches("README.md", ["README.?d"])
    assert not matches("src/b.py\n", ["src/*.py"])


def test_a_single_file_has_the_name_that_the_task_gives(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(GOLD)
    assert read_submission(tmp_path / "mine.py", SPANS) == {PARSE: GOLD}
    assert repo.lone(VERSIONS) == "src/verlib/bump.py"
    assert repo.totals(SPANS) == (7, 26)


PARAMETRISED = """
import pytest
from spans import parse


@pytest.fixture
def hour():
    return 3600


@pytest.mark.parametrize(("text", "minutes"), [("1h1m", 1), ("1h20m", 20)])
def test_minutes(text, minutes, hour):
    assert parse(text) == hour + minutes * 60


def test_file(tmp_path):
    (tmp_path / "span").write_text("2h1m")
    assert parse((tmp_path / "span").read_text()) == 7260


def test_refused():
    with pytest.raises(ValueError, match="1m1h"):
        parse("1m1h")


def test_kept(capsys):
    print(parse("2h"))
    assert capsys.readouterr().out == "7200\\n"
"""


@pytest.fixture(scope="module")
def image(yard: Yard, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of an image with pytest in it."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        (spec,) = importlib.util.find_spec(name).submodule_search_locations  # type: ignore[union-attr]
        shutil.copytree(spec, packages / name)
    shutil.copy(Path(pytest.__path__[0]).parent / "py.py", packages)
    found = images.prepare(yard._paths.images, interpreter_at(home))
    return found.digest


@pytest.mark.jail
def test_pytest_runs_what_it_alone_can(judge: Judge, yard: Yard, folder: Path, image: str) -> None:
    _pool("[repo]", 'image = "' + image + '"\n\n[repo]\nrunner = "pytest"')(folder)
    (folder / "tests/suite/tests/test_more.py").write_text(PARAMETRISED)
    more = [f"tests/test_more.py::test_{name}" for name in ("minutes", "file", "refused")]

    def change(found: dict[str, Any]) -> None:
        found[F2P] = [*more, *found[F2P][:2]]
        found[P2P] = [*found[P2P][:3], "tests/test_more.py::test_kept"]
        found["wrong_values"] = {}

    _manifest(change)(folder)
    task = load_task(folder)
    assert repo.check_lists(task, yard.of(task)) == []
    for variant, status in (
        ("gold", "pass"),
        ("wrong-order", "fail"),
        ("write-into-the-pipe-of-the-word", "tamper"),
    ):
        assert judge.judge(task, named(variant)).status == status
    forged = b"\nimport __main__, appliance.kinds.repo_pytest as mine\nmine.Watcher.word = 'passed'\n"
    start = (folder / "environment/repo" / PARSE).read_bytes()
    assert judge.judge(task, {PARSE: start + forged}).status == "tamper"


def test_pytest_needs_an_image(folder: Path) -> None:
    _pool("[repo]", '[repo]\nrunner = "pytest"')(folder)
    with pytest.raises(TaskError, match="pytest is not in the default image"):
        load_task(folder)
