"""V12 and the guard of batches: planted copies are found, honest neighbours are not accused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.admission import duplicates
from appliance.admission.contamination import Guard, canary_of, made_canary
from appliance.admission.duplicates import Index, fingerprint
from appliance.admission.fingerprints import foreign
from appliance.admission.shingles import abstracted
from appliance.bench.contamination import bench
from appliance.cli.main import appliance
from appliance.errors import TaskError
from appliance.nouns import Task
from appliance.pool import folder
from appliance.tasks import find_task, load_pack, load_task, shipped_packs


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    return load_pack(shipped_packs()["starter"])


@pytest.fixture(scope="module")
def index(tasks: tuple[Task, ...]) -> Index:
    return Index(map(fingerprint, tasks))


def copied(pack: Path, key: str, split: str, changes: dict[str, dict[str, str]]) -> Task:
    """The task in another split and under another key; `changes`: old to new text, by file."""
    found = folder.read(Path(find_task(key).folder))
    files = dict(found.files)
    for name, words in changes.items():
        text = files[name].decode()
        for old, new in words.items():
            assert old in text
            text = text.replace(old, new)
        files[name] = text.encode()
    pool = {name: value for name, value in found.pool.items() if name != "canary"}
    pool |= {"key": "copy/task", "split": split, "cluster": "copy"}
    entry = changes.get("solution/solution.py", {}).get(pool["function"]["entry_point"])
    pool |= {"function": {**pool["function"], "entry_point": entry}} if entry else {}
    manifest = {name: value for name, value in found.manifest.items() if name != "task"}
    return load_task(folder.write(pack, replace(found, pool=pool, manifest=manifest, files=files)))


RENAMED = {
    name: {"fibonacci": "growing"}
    for name in ("instruction.md", "solution/solution.py", "environment/solution.py")
}


def test_a_renamed_copy_of_an_eval_task_is_refused(tmp_path: Path, index: Index) -> None:
    found = duplicates.check(copied(tmp_path, "starter/fibonacci", "train", RENAMED), index)
    assert found.state == "failed"
    assert found.reason.startswith("like starter/fibonacci of the split eval: ")
    assert found.measured["pairs"][0]["gold"] == 1.0


def test_a_copy_within_its_split_is_a_hint_to_its_cluster(tmp_path: Path, index: Index) -> None:
    found = duplicates.check(copied(tmp_path, "starter/fibonacci", "eval", RENAMED), index)
    assert (found.state, found.measured["cluster"]) == ("passed", ["starter/fibonacci"])


def test_a_copy_in_other_words_with_other_cases_is_refused(tmp_path: Path, index: Index) -> None:
    words = {
        "which returns the first `n` numbers of the sequence": "giving the row of the `n` leading numbers in",
        "For `n` equal to 0 the list is empty.": "No numbers are asked for with `n` equal to 0.",
    }
    task = copied(tmp_path, "starter/fibonacci", "train", {"instruction.md": words})
    assert duplicates.check(task, index).state == "failed"


def test_an_honest_task_is_not_accused_and_without_an_index_nothing_is_said(index: Index) -> None:
    assert duplicates.check(find_task("starter/fibonacci"), index).state == "passed"
    assert duplicates.check(find_task("starter/fibonacci"), None).state == "not_run"


def test_foreign_texts_can_be_asked_about(index: Index) -> None:
    task = find_task("starter/fibonacci")
    gold = (Path(task.folder) / "solution/solution.py").read_text()
    row = foreign("sft/1", task.statement.replace("fibonacci", "numbers"), gold, split="train")
    assert [pair.second for pair in index.of(row)] == ["starter/fibonacci"]
    assert index.of(foreign("sft/2", "Write a poem about the sea.", "print('sea')", split="train")) == []


def test_names_and_constants_do_not_count_and_built_in_names_do() -> None:
    one = abstracted("a.py", "def f(items):\n    return sum(items) + 3\n")
    assert one == abstracted("a.py", 'def g(count):\n    """Add."""\n    return sum(count) + 7\n')
    assert one != abstracted("a.py", "def f(items):\n    return max(items) + 3\n")
    queries = "SELECT id FROM staff WHERE pay > 3", "select key_ from people where wage > 4 -- rich"
    assert abstracted("a.sql", queries[0]) == abstracted("a.sql", queries[1])


def test_planted_copies_are_found_and_few_honest_pairs_accused(tasks: tuple[Task, ...]) -> None:
    found = bench(tasks, 50, seed=3)
    assert found["plants"]["plants"] >= 300
    assert found["plants"]["share"] >= 0.99, found["missed"]
    assert found["accused"]["share"] <= 0.001


def test_the_verb_lists_pairs_and_fails(tmp_path: Path) -> None:
    copied(tmp_path / "copy", "starter/fibonacci", "train", RENAMED)
    folder.write(tmp_path / "starter", folder.read(Path(find_task("starter/fibonacci").folder)))
    for name in ("copy", "starter"):
        about = f'name = "{name}"\nversion = "1.0.0"\nlicence = "Apache-2.0"\n'
        (tmp_path / name / "pack.toml").write_text(about)
    one, both = ["--pack", str(tmp_path / "copy")], ["--pack", str(tmp_path / "starter")]
    done = CliRunner().invoke(appliance, ["task", "duplicates", *one, *both, "--json"])
    told = json.loads(done.output)
    assert done.exit_code == 1
    assert [(pair["first"], pair["second"]) for pair in told["pairs"]] == [("copy/task", "starter/fibonacci")]
    assert CliRunner().invoke(appliance, ["task", "duplicates", *one]).exit_code == 0


# the guard


@pytest.fixture(scope="module")
def guard(tasks: tuple[Task, ...]) -> Guard:
    return Guard(tasks)


def test_every_shipped_eval_task_carries_its_canary(tasks: tuple[Task, ...]) -> None:
    kept = [task for task in tasks if task.split == "eval"]
    assert kept and [task.canary for task in kept] == [made_canary(task.key) for task in kept]


def test_the_guard_finds_canary_statement_and_gold_of_an_eval_task(guard: Guard) -> None:
    task = find_task("starter/fibonacci")
    gold = (Path(task.folder) / "solution/solution.py").read_text()
    texts = [
        "An honest text about the sea.",
        f"… {canary_of(task).upper()} …",
        f"Do this. {task.statement} Thank you.",
        gold.replace("    ", "\t").partition('"""\n')[2],
    ]
    found = [(finding.index, finding.key, finding.what) for finding in guard.findings(texts)]
    assert found == [(1, task.key, "canary"), (2, task.key, "statement"), (3, task.key, "gold")]
    assert guard.contamination_of(texts) == (task.key,)


def test_the_guard_lets_every_train_task_pass(guard: Guard, tasks: tuple[Task, ...]) -> None:
    train = [task for task in tasks if task.split == "train"]
    texts = [
        f"{task.statement}\n{(Path(task.folder) / 'solution/solution.py').read_text()}" for task in train
    ]
    assert guard.contamination_of(texts) == ()


def test_an_eval_task_does_not_become_a_train_task(tmp_path: Path) -> None:
    task = copied(tmp_path, "starter/fibonacci", "eval", {})
    path = Path(task.folder) / "pool.toml"
    path.write_text(
        path.read_text().replace('split = "eval"', f'split = "train"\ncanary = "{canary_of(task)}"')
    )
    with pytest.raises(TaskError, match="'canary': tasks of the split 'train' have none"):
        load_task(Path(task.folder))
    path.write_text(path.read_text().replace(f'"{canary_of(task)}"', '"bird"'))
    with pytest.raises(TaskError, match="'bird' does not have the right form"):
        load_task(Path(task.folder))
