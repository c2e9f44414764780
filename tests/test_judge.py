"""The judge on real jails: honest and hostile submissions, and what a verdict may say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from appliance.cli.image import command as image_command
from appliance.cli.judge import command as judge_command
from appliance.cli.task import command as task_command
from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.examination import Examination, Finding, Outcome
from appliance.judge import Judge, read_submission
from appliance.kinds import function_worker
from appliance.kinds.function import Case, judge_reply
from appliance.nouns import Task, Verdict
from appliance.paths import Paths
from appliance.rewards import reward
from appliance.tasks import find_task, load_pack, load_task
from appliance.verdicts import EVIDENCE_CAP, TEXT_CAP, conclude, verifier_hash
from appliance.yard import Yard

HERE = Path(__file__).parent
PACKS = [HERE / "data/pack_tiny", HERE / "data/pack_judging"]
SUBMISSIONS = sorted(path.parent for path in (HERE / "judging").glob("*/expect.toml"))
ADD = b"def add_two(a, b):\n    return a + b\n"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache")) as yard:
        yield Judge(yard)


@pytest.fixture
def add_two() -> Task:
    return find_task("judging/add_two", PACKS)


@pytest.mark.jail
@pytest.mark.parametrize("folder", SUBMISSIONS, ids=lambda folder: folder.name)
def test_a_submission_gets_the_expected_verdict(judge: Judge, folder: Path) -> None:
    expected = tomllib.loads((folder / "expect.toml").read_text())
    task = find_task(expected["task"], PACKS)
    submission = folder / "submission"
    artefacts = read_submission(submission, task) if submission.is_dir() else {}
    verdict = judge.judge(task, artefacts)
    assert verdict.status in expected["status"].split("|"), verdict.evidence
    assert verdict.reward == expected["reward"], verdict.evidence
    if "outcome" in expected:
        assert expected["outcome"] in {item["outcome"] for item in verdict.evidence}
    assert bool(verdict.evidence) == (verdict.status != "pass")


def test_there_are_enough_attacks() -> None:
    assert sum(folder.name.startswith("hack_") for folder in SUBMISSIONS) >= 20
    assert sum(folder.name.startswith("honest_") for folder in SUBMISSIONS) >= 3


@pytest.mark.jail
@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_gold_passes_and_nothing_does_not(judge: Judge, pack: Path) -> None:
    for task in load_pack(pack):
        gold = (Path(task.folder) / "solution/solution.py").read_bytes()
        assert judge.judge(task, {"solution.py": gold}).reward == 1.0
        assert judge.judge(task, {"solution.py": b""}).reward == 0.0
        assert judge.judge(task, {"solution.py": task.start.encode()}).reward == 0.0


@pytest.mark.jail
def test_a_verdict_carries_every_field(judge: Judge, add_two: Task) -> None:
    verdict = judge.judge(add_two, {"solution.py": ADD}, seed=5)
    found = json.loads(json.dumps(verdict.to_json()))
    assert {"task", "status", "reward", "signals", "gates", "layers", "evidence", "cost"} <= found.keys()
    assert {"task_hash", "verifier_hash", "artefact_hash"} <= found.keys()
    assert found["signals"]["hidden_share"] == {"raw": 10.0, "value": 1.0, "weight": 1.0, "role": "core"}
    assert found["signals"]["public_share"] == {"raw": 2.0, "value": 1.0, "weight": 0.0, "role": "monitor"}
    assert [layer["name"] for layer in found["layers"]] == ["intake", "quick", "hidden"]
    assert [layer["decided"] for layer in found["layers"]] == [False, False, True]
    assert all(found["gates"].values())
    assert found["cost"]["cpu_s"] > 0
    assert json.loads(json.dumps(Verdict.from_json(found).to_json())) == found


@pytest.mark.jail
def test_the_first_deciding_layer_is_the_last(judge: Judge, add_two: Task) -> None:
    broken = judge.judge(add_two, {"solution.py": b"def add_two(:"})
    assert [layer["name"] for layer in broken.layers] == ["intake"]
    assert broken.gates["loads"] is False
    wrong = judge.judge(add_two, {"solution.py": b"def add_two(a, b):\n    return 7\n"})
    assert [layer["name"] for layer in wrong.layers] == ["intake", "quick"]
    assert wrong.signals["hidden_share"].value == 0.0


@pytest.mark.jail
def test_a_verdict_repeats_under_its_seed(judge: Judge, add_two: Task) -> None:
    source = (
        b"seen = []\n\n\ndef add_two(a, b):\n    seen.append(a)\n    return a + b if len(seen) < 9 else 2\n"
    )
    first, again, other = (judge.judge(add_two, {"solution.py": source}, seed=seed) for seed in (1, 1, 2))
    assert first.evidence == again.evidence
    assert {item["case"] for item in first.evidence} != {item["case"] for item in other.evidence}
    assert first.artefact_hash == other.artefact_hash


@pytest.mark.jail
def test_set_order_does_not_depend_on_the_process(judge: Judge, add_two: Task) -> None:
    source = b"def add_two(a, b):\n    return list({'one', 'two', 'three', 'four', 'five'})\n"
    verdicts = [judge.judge(add_two, {"solution.py": source}, seed=3) for _ in range(3)]
    assert len({verdict.evidence[0]["got"] for verdict in verdicts}) == 1


@pytest.mark.jail
def test_expected_values_are_nowhere_in_a_verdict(judge: Judge, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "data/pack_judging/sort_words", tmp_path / "sort_words"))
    rows = [{"args": [["b"]], "expected": ["the-hidden-marker"]}]
    (folder / "tests/cases.json").write_text(json.dumps(rows))
    submission = {"solution.py": b"def sort_words(words):\n    return sorted(words)\n"}
    verdict = judge.judge(load_task(folder), submission)
    assert verdict.status == "fail"
    assert verdict.evidence == ({"layer": "hidden", "case": 0, "outcome": "wrong_value", "got": '["b"]'},)
    assert "the-hidden-marker" not in json.dumps(verdict.to_json())


@pytest.mark.jail
def test_candidate_text_is_escaped_and_capped(judge: Judge) -> None:
    hostile = HERE / "judging/hack_escape_text/submission"
    verdict = judge.judge(
        find_task("judging/add_two", PACKS), read_submission(hostile, find_task("judging/add_two", PACKS))
    )
    for item in verdict.evidence:
        assert len(item["got"]) <= TEXT_CAP
        assert item["got"].isprintable()
        assert "\x1b" not in item["got"]


@pytest.mark.jail
def test_many_submissions_are_judged_at_once(judge: Judge, add_two: Task) -> None:
    sources = [f"def add_two(a, b):\n    return a + b + {n % 2}\n".encode() for n in range(16)]
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda source: judge.judge(add_two, {"solution.py": source}), sources))
    assert [verdict.reward for verdict in verdicts] == [float(n % 2 == 0) for n in range(16)]


def _concluded(task: Task, examination: Examination) -> Verdict:
    return conclude(task, {"solution.py": ADD}, examination, {"intake": 0.0}, {})


def test_a_host_fault_has_no_reward(add_two: Task) -> None:
    verdict = _concluded(add_two, Examination(2, 10, finding=Finding("infra", "quick", "sandbox", "no jail")))
    assert verdict.reward is None
    assert verdict.masked


@pytest.mark.parametrize(
    "status", ["candidate_timeout", "candidate_resource", "candidate_protocol", "tamper"]
)
def test_a_finding_outweighs_right_answers(add_two: Task, status: Any) -> None:
    right = tuple(Outcome("quick", n, "correct") for n in range(2)) + tuple(
        Outcome("hidden", n, "correct") for n in range(10)
    )
    assert _concluded(add_two, Examination(2, 10, right)).reward == 1.0
    caught = _concluded(add_two, Examination(2, 10, right, Finding(status, "hidden", "x")))
    assert (caught.status, caught.reward) == (status, 0.0)
    assert not all(caught.gates.values())


def test_unreached_cases_count_as_failed(add_two: Task) -> None:
    some = (Outcome("quick", 0, "correct"), Outcome("quick", 1, "correct"), Outcome("hidden", 0, "correct"))
    verdict = _concluded(add_two, Examination(2, 10, some))
    assert (verdict.status, verdict.reward) == ("fail", 0.0)
    assert verdict.signals["hidden_share"].value == 0.1


def test_evidence_is_capped(add_two: Task) -> None:
    failed = tuple(Outcome("hidden", n, "wrong_value", "1") for n in range(100))
    assert len(_concluded(add_two, Examination(2, 100, failed)).evidence) == EVIDENCE_CAP


@pytest.mark.parametrize(
    ("core", "wanted"),
    [(0.0, 0.0), (1.0, 1.0), (0.64, 0.6), (0.9801, 0.95), (0.65, 0.65), (0.05, 0.05), (0.0499, 0.0)],
)
def test_rewards_are_rounded_down_to_a_step(core: float, wanted: float) -> None:
    assert reward({"integrity": True}, core) == wanted
    assert reward({"integrity": False}, core) == 0.0


def test_the_verifier_hash_is_stable_and_per_kind() -> None:
    assert verifier_hash("function") == verifier_hash("function")
    assert len(verifier_hash("function")) == 64


BAD_REPLIES: list[dict[str, Any]] = [
    {},
    {"value": 3, "raised": []},
    {"value": 3, "correct": True},
    {"raised": "ValueError", "text": ""},
    {"unencodable": 1},
    {"value": {"$set": [1, 1]}},
    {"end": True},
]


@pytest.mark.parametrize("reply", BAD_REPLIES, ids=repr)
def test_a_reply_of_another_shape_is_a_breach(reply: dict[str, Any]) -> None:
    from appliance.dialogue import Broken

    with pytest.raises(Broken):
        judge_reply(Case("hidden", 0, [], {}, 3), reply)


def test_a_submission_of_very_deep_folders_is_read_or_refused(tmp_path: Path, add_two: Task) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    try:
        place = os.open(root, os.O_RDONLY)
        for depth in range(3000):
            os.mkdir("d", dir_fd=place)
            place, above = os.open("d", os.O_RDONLY, dir_fd=place), place
            os.close(above)
            if depth == 1200:
                os.close(os.open("solution.py", os.O_CREAT | os.O_WRONLY, dir_fd=place))
                assert len(read_submission(root, add_two)) == 1
        os.close(place)
        with pytest.raises(UsageError, match="File name too long"):
            read_submission(root, add_two)
    finally:
        # shutil, and so pytest when it tidies up in a later session, cannot remove what lies so deep.
        subprocess.run(["rm", "-rf", root], check=True)


def kinds_of(*bases: type[BaseException]) -> list[str]:
    return function_worker.names(type("Raised", bases, {})())


RAISED = [
    (kinds_of(ValueError), True),
    (kinds_of(UnicodeError), True),
    (kinds_of(ValueError, KeyError), True),
    (kinds_of(KeyError, ArithmeticError, ValueError), False),
    (kinds_of(Exception), False),
    ([], False),
]


@pytest.mark.parametrize(("family", "right"), RAISED, ids=repr)
def test_an_exception_of_many_kinds_is_right_for_its_first_alone(family: list[str], right: bool) -> None:
    reply = {"raised": family, "text": "", "message": ""}
    assert judge_reply(Case("hidden", 0, [], {}, raises="ValueError"), reply).correct is right


def test_a_submission_is_read_without_following_anything(tmp_path: Path, add_two: Task) -> None:
    single = tmp_path / "attempt.py"
    single.write_bytes(ADD)
    assert read_submission(single, add_two) == {"solution.py": ADD}
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "solution.py").write_bytes(ADD)
    (folder / "deep/more.py").write_bytes(b"x" * 200_000)
    found = read_submission(folder, add_two)
    assert list(found) == ["deep/more.py", "solution.py"]
    assert len(found["deep/more.py"]) == 64 * 1024 + 1
    (folder / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="not a regular file"):
        read_submission(folder, add_two)
    with pytest.raises(NotFoundError):
        read_submission(tmp_path / "nowhere", add_two)
    with pytest.raises(UsageError):
        read_submission(Path("/dev/zero"), add_two)


@pytest.fixture
def cli(tmp_path: Path) -> CliRunner:
    return CliRunner(env={"APPLIANCE_HOME": str(tmp_path)})


def _pack_options() -> list[str]:
    return [part for pack in PACKS for part in ("--pack", str(pack))]


@pytest.mark.jail
def test_judge_run_prints_one_object(cli: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "try.py").write_bytes(ADD)
    asked = ["run", "judging/add_two", str(tmp_path / "try.py"), "--json", *_pack_options()]
    result = cli.invoke(judge_command, asked, catch_exceptions=False)
    assert (result.exit_code, json.loads(result.stdout)["reward"]) == (0, 1.0)
    assert result.stdout.count("\n") == 1
    folder = str(PACKS[1] / "add_two")
    (tmp_path / "try.py").write_bytes(b"def add_two(a, b):\n    return '\x1b[2J'\n")
    shown = cli.invoke(judge_command, ["run", folder, str(tmp_path / "try.py")], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "judging/add_two: fail, reward 0.00" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_task_list_and_show_tell_no_secrets(cli: CliRunner) -> None:
    listed = cli.invoke(task_command, ["list", "--json", *_pack_options()], catch_exceptions=False)
    assert len(json.loads(listed.stdout)["tasks"]) == 9
    only = cli.invoke(
        task_command, ["list", "--split", "eval", "--json", *_pack_options()], catch_exceptions=False
    )
    assert {row["split"] for row in json.loads(only.stdout)["tasks"]} == {"eval"}
    for flags in ([], ["--json"]):
        shown = cli.invoke(
            task_command, ["show", "judging/add_two", *flags, *_pack_options()], catch_exceptions=False
        )
        assert "100000000000000000001" not in shown.stdout
        assert "return a + b" not in shown.stdout
    assert json.loads(shown.stdout)["hidden_cases"] == 10


@pytest.mark.jail
def test_task_check_fails_when_a_task_cannot_be_trusted(cli: CliRunner, tmp_path: Path) -> None:
    pack = Path(shutil.copytree(PACKS[0], tmp_path / "pack"))
    good = cli.invoke(task_command, ["check", "--all", "--json", "--pack", str(pack)], catch_exceptions=False)
    assert (good.exit_code, json.loads(good.stdout)["ok"]) == (0, True)
    gold = pack / "digit_seven/solution/solution.py"
    gold.write_text(gold.read_text().replace("7", "8"))
    start = pack / "digit_five/environment/solution.py"
    start.write_text(start.read_text() + "5\n")
    bad = cli.invoke(task_command, ["check", "--all", "--json", "--pack", str(pack)], catch_exceptions=False)
    report = json.loads(bad.stdout)
    assert (bad.exit_code, report["checked"], report["failed"]) == (1, 5, 2)
    failed = {row["task"]: row["controls"] for row in report["tasks"] if not row["ok"]}
    assert failed["tiny/digit_seven"]["gold"]["reward"] == 0.0
    assert failed["tiny/digit_five"]["start"]["reward"] == 1.0
    shown = cli.invoke(
        task_command, ["check", "tiny/digit_seven", "--pack", str(pack)], catch_exceptions=False
    )
    assert shown.exit_code == 1
    assert "tiny/digit_seven: gold got 0.0 (fail), not 1.0" in shown.stdout


@pytest.mark.jail
def test_a_task_that_names_an_image_is_judged_in_it(cli: CliRunner, tmp_path: Path) -> None:
    """The gold needs a package that only the image has."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "tiny_sums.py").write_text("def add(a, b):\n    return a + b\n")
    built = cli.invoke(image_command, ["build", "--python", str(venv), "--name", "sums", "--json"])
    assert built.exit_code == 0, built.output
    folder = Path(shutil.copytree(PACKS[1] / "add_two", tmp_path / "add_two"))
    gold = folder / "solution/solution.py"
    gold.write_text("import tiny_sums\n\n\ndef add_two(a, b):\n    return tiny_sums.add(a, b)\n")
    without = cli.invoke(judge_command, ["run", str(folder), str(gold), "--json"], catch_exceptions=False)
    assert json.loads(without.stdout)["reward"] == 0.0
    pool = folder / "pool.toml"
    text, digest = pool.read_text(), json.loads(built.stdout)["digest"]
    pool.write_text(text.replace("[function]", f'image = "{digest}"\n[function]'))
    checked = cli.invoke(task_command, ["check", str(folder), "--json"], catch_exceptions=False)
    assert (checked.exit_code, json.loads(checked.stdout)["ok"]) == (0, True)
    pool.write_text(text.replace("[function]", f'image = "sha256:{"0" * 64}"\n[function]'))
    for verb, words in (
        (task_command, ["check", str(folder)]),
        (judge_command, ["run", str(folder), str(gold)]),
    ):
        error = cli.invoke(verb, words).exception
        assert isinstance(error, TaskError)
        assert f"{pool}: field 'image': no image 'sha256:0000" in error.message
        assert "appliance image build or import" in error.remedy


def test_an_empty_path_is_not_the_current_folder(cli: CliRunner) -> None:
    error = cli.invoke(judge_command, ["run", "judging/add_two", "", *_pack_options()]).exception
    assert isinstance(error, UsageError) and "PATH is empty" in error.message


def test_errors_of_the_verbs_are_ours(cli: CliRunner, tmp_path: Path) -> None:
    assert isinstance(cli.invoke(task_command, ["check"]).exception, UsageError)
    missing = cli.invoke(judge_command, ["run", "judging/add_tow", "x", *_pack_options()])
    assert isinstance(missing.exception, NotFoundError)
    (tmp_path / "pool.toml").write_text("")
    assert isinstance(cli.invoke(judge_command, ["run", str(tmp_path), "x"]).exception, TaskError)


# what a right submission is worth beyond being right

QUALITY = """
[quality]
beta = 0.2

[quality.static]
role = "secondary"

[quality.security]
role = "gate"

[quality.size]
role = "monitor"
"""


@pytest.mark.jail
def test_quality_counts_only_where_the_work_is_done(judge: Judge, add_two: Task, tmp_path: Path) -> None:
    shutil.copytree(add_two.folder, tmp_path / "add_two")
    with (tmp_path / "add_two/pool.toml").open("a") as pool:
        pool.write(QUALITY)
    task = load_task(tmp_path / "add_two")
    assert task.task_hash != add_two.task_hash
    untidy = b"import os, sys, json, re\nimport abc\n" + ADD
    sly = b"def add_two(a, b):\n    return eval('a + b')\n"
    gold, messy, unsafe, wrong = (
        judge.judge(task, {"solution.py": source})
        for source in (ADD, untidy, sly, untidy.replace(b"+", b"-"))
    )
    assert (gold.status, gold.reward, gold.gates["security"]) == ("pass", 1.0, True)
    assert (gold.layers[-1]["name"], gold.signals["size"].role) == ("quality", "monitor")
    assert messy.status == "pass" and messy.reward is not None and 0.8 <= messy.reward < 1.0
    assert any(item["layer"] == "quality" for item in messy.evidence)
    assert (unsafe.status, unsafe.reward, unsafe.gates["security"]) == ("fail", 0.0, False)
    assert unsafe.signals["hidden_share"].value == 1.0
    assert (wrong.status, wrong.reward) == ("fail", 0.0)
    assert "static" not in wrong.signals and "quality" not in {layer["name"] for layer in wrong.layers}
    plain = judge.judge(add_two, {"solution.py": ADD})
    assert plain.verifier_hash != gold.verifier_hash == messy.verifier_hash
    (tmp_path / "add_two/pool.toml").write_text(
        (tmp_path / "add_two/pool.toml").read_text().replace("[quality.size]", "[quality.sise]")
    )
    with pytest.raises(TaskError, match=r"sise.*size|size"):
        load_task(tmp_path / "add_two")
