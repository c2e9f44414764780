"""The kind `stdio` on real jails: its attacks, its honest programs, its checkers, and what a task may get wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest
from jail_helpers import remote
from kind_tasks import Counting, made_task, write_task

from appliance.attacks import stdio as fixtures
from appliance.attacks.run import PACK
from appliance.errors import IntegrityError, TaskError
from appliance.judge import Judge
from appliance.kinds import stdio
from appliance.kinds.stdio_checkers import CHECKERS, Tolerance
from appliance.kinds.stdio_languages import LANGUAGES
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.witness import Witness
from appliance.tasks import load_task
from appliance.yard import Yard

TASKS = {name: load_task(PACK / name) for name in (fixtures.TASK, *fixtures.MORE)}


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


COUNT = "import sys\nprint(len(sys.stdin.read()))\n"
FILES = {
    "public/1.in": "a",
    "public/1.out": "1\n",
    "tests/1.in": "four",
    "tests/1.out": "4\n",
    "tests/2.in": "",
    "tests/2.out": "0\n",
    "solution/solution.py": COUNT,
}
GENERATED = {**FILES, "hidden/generator.py": "import sys\nprint('x' * (5 + int(sys.argv[1]) % 1000))\n"}
PYTHON = 'language = "python"'


def source(text: str) -> dict[str, bytes]:
    return {"solution.py": text.encode()}


EQUAL = (
    ("exact", "1\n2\n", "1\n2", True),
    ("exact", "1\n2\n", "1\n2\n\n", False),
    ("exact", "1\n2\n", "1 \n2\n", False),
    ("exact", "1\n2\n", "1\r\n2\r\n", False),
    ("exact", "", "\n", True),
    ("exact", "7\n", "7\n8\n", False),
    ("lines", "1 2\n3\n", "1 2  \r\n3\n\n\n", True),
    ("lines", "1 2\n3\n", "1  2\n3\n", False),
    ("lines", "1\n3\n", "1\n\n3\n", False),
    ("lines", "1\n", " 1\n", False),
    ("tokens", "1 2\n3", "1\t2 3\n", True),
    ("tokens", "1 2 3", "1 2 3 4", False),
    ("tokens", "1 2 3", "1 3 2", False),
    ("tokens", "1 2", "1\u00a02", False),
    ("tokens", "7", "\uff17", False),
    ("tokens", "12", "1 2", False),
    ("floats", "0.5 x", "0.50000009 x", True),
    ("floats", "0.5 x", "0.51 x", False),
    ("floats", "0.5 x", "0.5 y", False),
    ("floats", "1e3", "1000.0005", True),
    ("floats", "3", "3.0", False),
    ("floats", "0.5", "nan", False),
    ("floats", "0.5", "1e999", False),
    ("floats", "0.5", "0x1p-1", False),
    ("floats", "1_0.5", "10.5", False),
    ("floats", "0.5", "0.5 0.5", False),
    ("floats", "nan", "nan", False),
    ("floats", "-NaN", "-NaN", False),
    ("floats", "inf", "inf", True),
    ("floats", "1e9999", "1e9999", False),
    ("floats", "0.5", "0." + "5" * 1000, False),
    ("floats", "0.5", "", False),
    ("bag", "b\na\na\n", "a\nb\na", True),
    ("bag", "b\na\na\n", "a\nb\n", False),
    ("bag", "a\n", "a\nb\n", False),
    ("bag", "a\n", "a\n\n", False),
)


@pytest.mark.parametrize(("name", "expected", "answer", "equal"), EQUAL)
def test_a_checker_compares_the_whole_answer(name: str, expected: str, answer: str, equal: bool) -> None:
    tolerance = Tolerance(absolute=1e-9, relative=1e-6)
    assert CHECKERS[name](expected.encode(), answer.encode(), tolerance) is equal


@pytest.mark.parametrize("name", sorted(CHECKERS))
def test_no_checker_takes_a_shotgun(name: str) -> None:
    expected, shotgun = b"3\n", b"\n".join(b"%d" % number for number in range(10))
    assert not CHECKERS[name](expected, shotgun, Tolerance(1e-9, 1e-9))


BROKEN: tuple[tuple[str, Mapping[str, str | None], str], ...] = (
    (PYTHON, {"public/1.out": None}, "public/1.out is missing"),
    (PYTHON, {"tests/1.in": None}, "tests/1.in is missing"),
    (PYTHON, {"public/1.in": None, "public/1.out": None}, "public: no case"),
    (PYTHON, {name: None for name in FILES if name.startswith("tests")}, "tests: no case"),
    (PYTHON, {"solution/solution.py": None}, "solution.py is missing"),
    (PYTHON, {"hidden/generator.py": "print(1)"}, "no field 'generated'"),
    (PYTHON, {"hidden/checker.py": "print(1)"}, "no checker = 'custom'"),
    ('language = "pyton"', {}, "'pyton' is not allowed"),
    (f"{PYTHON}\ngenerated = 2", {}, "hidden/generator.py is missing"),
    (f"{PYTHON}\ngenerated = 0", {}, "is not above 0"),
    (f'{PYTHON}\nchecker = "custom"', {}, "hidden/checker.py is missing"),
    (f'{PYTHON}\nchecker = "floats"', {}, "has no tolerance"),
    (f"{PYTHON}\nabsolute = 1e-6", {}, "has no meaning for 'exact'"),
    (f'{PYTHON}\nchecker = "floats"\nrelative = 1.5', {}, "lets any number pass"),
    (f'{PYTHON}\nchecker = "floats"\nabsolute = 1e-6', {"tests/2.out": "nan"}, "no answer equals"),
)


@pytest.mark.parametrize(("table", "changes", "message"), BROKEN, ids=lambda item: str(item)[-30:])
def test_a_task_that_cannot_be_judged_is_refused(
    tmp_path: Path, table: str, changes: Mapping[str, str | None], message: str
) -> None:
    files = {name: text for name, text in {**FILES, **changes}.items() if text is not None}
    with pytest.raises(TaskError) as caught:
        load_task(write_task(tmp_path, "stdio", table, files))
    assert message in caught.value.message
    assert caught.value.remedy


@pytest.mark.jail
@pytest.mark.parametrize("folder", sorted(TASKS))
def test_controls_get_their_rewards(judge: Judge, folder: str) -> None:
    for name, (artefacts, reward) in stdio.controls(TASKS[folder]).items():
        assert judge.judge(TASKS[folder], artefacts).reward == reward, name


@pytest.mark.jail
def test_generated_cases_follow_the_seed_and_are_made_once(yard: Yard, tmp_path: Path) -> None:
    task = made_task(tmp_path, "stdio", f"{PYTHON}\ngenerated = 3", GENERATED)
    tell = source("import sys\ntext = sys.stdin.read()\nprint(len(text) if len(text) < 5 else -len(text))\n")
    jails = Counting(yard.of(task))
    first = stdio.examine(task, tell, jails, 1)
    assert (first.public_total, first.hidden_total, first.hidden_passed) == (1, 5, 2)
    before = jails.runs
    again = stdio.examine(task, tell, jails, 1)
    assert jails.runs - before == 6, "one jail for each case, and none for generator, gold or interpreter"
    assert again.outcomes == first.outcomes
    assert stdio.examine(task, tell, jails, 2).outcomes != first.outcomes
    assert len({outcome.got for outcome in first.outcomes}) == 6


@pytest.mark.jail
def test_one_submission_has_one_verdict(judge: Judge) -> None:
    """Many at once, in which the order of a set could differ from one interpreter to the next."""
    wrong = source("print(*{'one', 'two', 'three', 'four', 'five'})")
    gold = source((PACK / "stdio-sums/solution/solution.py").read_text())
    with ThreadPoolExecutor(4) as pool:
        asked = [gold, wrong] * 8
        verdicts = list(pool.map(lambda files: judge.judge(TASKS["stdio-sums"], files, seed=11), asked))
    told = {(verdict.status, verdict.reward, str(verdict.evidence)) for verdict in verdicts}
    assert len(told) == 2
    assert {verdict.status for verdict in verdicts[::2]} == {"pass"}


@pytest.mark.jail
def test_every_case_has_a_jail_and_limits_of_its_own(judge: Judge, tmp_path: Path) -> None:
    """Together the cases use more than the budget of one."""
    task = made_task(tmp_path, "stdio", PYTHON, FILES, "cpu_s = 0.5\nwall_s = 10")
    slow = "import os, time\nos.mkdir('/tmp/mine')\nwhile time.process_time() < 0.2: pass\n"
    verdict = judge.judge(task, source(slow + COUNT))
    assert verdict.status == "pass"
    assert verdict.cost["cpu_s"] > 0.5


@pytest.mark.jail
def test_expected_outputs_are_nowhere_in_a_verdict(judge: Judge, tmp_path: Path) -> None:
    files = {**FILES, "tests/1.out": "the-hidden-marker\n"}
    verdict = judge.judge(made_task(tmp_path, "stdio", PYTHON, files), source(COUNT))
    assert verdict.status == "fail"
    assert "the-hidden-marker" not in json.dumps(verdict.to_json())
    (item,) = verdict.evidence
    assert item == {"layer": "hidden", "case": 0, "outcome": "wrong_answer", "got": "4\n"}


@pytest.mark.jail
def test_a_failed_public_case_ends_the_judging(judge: Judge, tmp_path: Path) -> None:
    """Even where the author's programs are broken: that is no way to be masked."""
    broken = {**GENERATED, "hidden/generator.py": "raise SystemExit(1)"}
    task = made_task(tmp_path, "stdio", f"{PYTHON}\ngenerated = 3", broken)
    verdict = judge.judge(task, source("print(7)"))
    assert (verdict.status, verdict.reward) == ("fail", 0.0)
    assert [layer["name"] for layer in verdict.layers] == ["intake", "quick"]


@pytest.mark.jail
@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        ("hidden/generator.py", "raise SystemExit(1)", "generator"),
        ("hidden/generator.py", "while True: pass", "generator"),
        ("solution/solution.py", f"{COUNT}raise SystemExit(1)\n", "gold"),
        ("solution/solution.py", "pass\n", "gold"),
    ],
)
def test_what_the_author_broke_is_not_held_against_a_candidate(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, outcome: str
) -> None:
    monkeypatch.setattr(stdio, "AUTHOR_LIMITS", replace(stdio.AUTHOR_LIMITS, cpu_s=0.3))
    task = made_task(tmp_path, "stdio", f"{PYTHON}\ngenerated = 2", {**GENERATED, name: text})
    verdict = judge.judge(task, source(COUNT))
    assert (verdict.status, verdict.reward) == ("task_broken", None)
    assert verdict.evidence[0]["outcome"] == outcome


CHECKER = """import ast
read = lambda name: open(f"/job/{name}").read()
found = ast.literal_eval(read("answer"))
print("accept" if sorted(found) == sorted(read("expected").split()) else "reject")
"""


@pytest.mark.jail
def test_a_checker_of_the_authors_decides_in_a_jail_of_its_own(judge: Judge, tmp_path: Path) -> None:
    files = {
        **FILES,
        "hidden/checker.py": CHECKER,
        **{f"{name}.in": "b a" for name in ("public/1", "tests/1", "tests/2")},
        **{f"{name}.out": '["a", "b"]' for name in ("public/1", "tests/1", "tests/2")},
        "solution/solution.py": "print(['a', 'b'])\n",
    }
    files["hidden/checker.py"] = CHECKER.replace(
        'read("expected").split()', 'ast.literal_eval(read("expected"))'
    )
    task = made_task(tmp_path / "good", "stdio", f'{PYTHON}\nchecker = "custom"', files)
    assert judge.judge(task, source("print(['b', 'a'])")).status == "pass"
    assert judge.judge(task, source("print(['b', 'a', 'a'])")).status == "fail"
    assert judge.judge(task, source("print('accept')")).status == "fail"
    assert judge.judge(task, source("print('[' * 5000)")).status == "fail", "a crash of the checker is a no"
    deaf = {**files, "hidden/checker.py": "print('rejected')\n"}
    task = made_task(tmp_path / "deaf", "stdio", f'{PYTHON}\nchecker = "custom"', deaf)
    assert judge.judge(task, source("print(['b', 'a'])")).status == "task_broken"


@pytest.mark.jail
def test_a_graded_task_pays_for_a_part_and_counts_a_limit_as_a_failed_case(
    judge: Judge, tmp_path: Path
) -> None:
    loop = "import sys\ntext = sys.stdin.read()\nwhile len(text) == 4: pass\nprint(len(text))\n"
    budgets = "cpu_s = 0.3\nwall_s = 5"
    graded = made_task(tmp_path / "graded", "stdio", f'{PYTHON}\ncore = "graded"', FILES, budgets)
    verdict = judge.judge(graded, source(loop))
    assert (verdict.status, verdict.reward) == ("fail", 0.25)
    assert verdict.evidence[0]["outcome"] == "timeout_cpu"
    binary = made_task(tmp_path / "binary", "stdio", PYTHON, FILES, budgets)
    assert judge.judge(binary, source(loop)).status == "candidate_timeout"
    always = source("while True: pass")
    assert judge.judge(graded, always).status == "candidate_timeout", "a public case is decided at once"


@pytest.mark.jail
def test_an_answer_over_its_budget_is_not_compared(judge: Judge, tmp_path: Path) -> None:
    files = {**FILES, "public/1.out": "1" * 3000, "solution/solution.py": "print(1)"}
    task = made_task(tmp_path, "stdio", PYTHON, files, "answer_kb = 2")
    assert judge.judge(task, source("print('1' * 3000)")).status == "candidate_resource"


OTHERS = (
    ("sh", "solution.sh", "#!/bin/sh\nwc -c | tr -d ' '\n"),
    ("bash", "solution.sh", "read -r -d '' text\necho $(( ${#text} ))\n"),
    ("cpp", "solution.cpp", "#include <iostream>\n#include <iterator>\n#include <string>\nint main() {\n"
     "    std::istreambuf_iterator<char> in(std::cin), end;\n"
     "    std::cout << std::string(in, end).size() << std::endl;\n}\n"),
)  # fmt: skip


@pytest.mark.jail
@pytest.mark.parametrize(("language", "name", "text"), OTHERS, ids=[row[0] for row in OTHERS])
def test_programs_may_be_in_another_language(
    judge: Judge, tmp_path: Path, language: str, name: str, text: str
) -> None:
    files = {**FILES, f"solution/{name}": text, f"environment/{name}": "\n"}
    task = made_task(tmp_path, "stdio", f'language = "{language}"', files)
    for artefacts, reward in stdio.controls(task).values():
        verdict = judge.judge(task, artefacts)
        assert verdict.reward == reward, verdict.evidence
    assert judge.judge(task, source(COUNT)).status == "tamper", "of another name"


@pytest.mark.jail
@pytest.mark.parametrize("language", ["python", "c"])
def test_a_tool_that_the_image_lacks_is_the_tasks_fault(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    known = LANGUAGES[language]
    lacking = (
        replace(known, compilers=("no-cc",)) if known.compiled else replace(known, run=("no-python", "x"))
    )
    monkeypatch.setitem(LANGUAGES, language, lacking)  # type: ignore[arg-type]
    files = {**FILES, f"solution/{known.source}": "x"}
    task = made_task(tmp_path, "stdio", f'language = "{language}"', files)
    verdict = judge.judge(task, {known.source: b"whatever"})
    assert (verdict.status, verdict.reward) == ("task_broken", None)
    assert "no-" in verdict.evidence[0]["text"]


@pytest.mark.jail
def test_a_task_that_changed_after_it_was_loaded_is_not_judged(judge: Judge, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PACK / "stdio-sums", tmp_path / "sums"))
    task = load_task(folder)
    (folder / "tests/1.out").write_text("0\n")
    with pytest.raises(IntegrityError):
        judge.judge(task, source("print(0)"))


@pytest.mark.jail
@pytest.mark.skipif(util.find_spec("ptrace") is None, reason="an audit needs python-ptrace")
def test_an_audit_watches_the_candidate_in_every_case(judge: Judge, tmp_path: Path) -> None:
    task = made_task(tmp_path, "stdio", f"{PYTHON}\ngenerated = 2", GENERATED)
    program = source(f"open('/tmp/left', 'w').close()\n{COUNT}")
    verdict = judge.judge(task, program)
    audited = judge.audit(task, program, verdict, Witness)
    assert verdict.reward == 1.0
    assert audited.audit is not None and audited.audit["status"] == "pass"
    assert audited.audit["found"]["changed"] == 5, "one for each case, and none of generator or gold"
    assert audited.audit["complete"]


@pytest.mark.jail
def test_jails_of_a_jailer_judge_alike(tmp_path: Path) -> None:
    task = made_task(tmp_path / "task", "stdio", f"{PYTHON}\ngenerated = 2", GENERATED)
    with remote(tmp_path) as jails:
        found = stdio.examine(task, source(COUNT), jails, 3)
    with Jails(Paths(tmp_path / "data", tmp_path / "cache")) as direct:
        assert stdio.examine(task, source(COUNT), direct, 3).outcomes == found.outcomes
    assert (found.public_passed, found.hidden_passed, found.finding) == (1, 4, None)
