"""Task folders and packs: what is read, what is refused and how it is said, what a hash covers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.errors import ApplianceError, IntegrityError, NotFoundError, TaskError, UsageError
from appliance.examination import DEFAULT_BUDGETS
from appliance.kinds import function, kind_names
from appliance.tasks import find_task, load_pack, load_task, shipped_packs

DATA = Path(__file__).parent / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of one good task to break."""
    return Path(shutil.copytree(DATA / "pack_judging/add_two", tmp_path / "add_two"))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of one good pack to break."""
    return Path(shutil.copytree(DATA / "pack_tiny", tmp_path / "pack"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_pack_is_read_whole_and_sorted() -> None:
    tasks = load_pack(DATA / "pack_tiny")
    assert [task.key for task in tasks] == sorted(task.key for task in tasks)
    assert {task.split for task in tasks} == {"train", "eval"}
    seven = next(task for task in tasks if task.key == "tiny/digit_seven")
    assert (seven.pack, seven.kind, seven.tier, seven.entry_point) == (
        "tiny",
        "function",
        "easy",
        "digit_seven",
    )
    assert seven.start.endswith('"""\n    return ')
    assert seven.statement.startswith("Write the function `digit_seven`")
    assert seven.settings["budgets"]["cpu_s"] == 2.0


def test_budgets_and_kind_settings_reach_the_task(folder: Path) -> None:
    task = load_task(folder)
    assert task.settings["budgets"]["cpu_s"] == 1.0
    assert task.settings["budgets"]["memory_mb"] == 256
    assert task.settings["entry_point"] == "add_two"


def test_harbor_fields_we_do_not_know_are_left_alone(folder: Path) -> None:
    extra = (
        '\n[environment.healthcheck]\ncommand = "true"\n\n[[steps]]\nname = "one"\n\n[future]\nfield = 1\n'
    )
    (folder / "task.toml").write_text((folder / "task.toml").read_text() + extra)
    assert load_task(folder).key == "judging/add_two"


POOL_FAULTS = {
    "unknown key": ('cluster = "', 'clustr = "', "clustr", "did you mean 'cluster'?"),
    "missing key": ('licence = "Apache-2.0"\n', "", "'licence' is missing", "add licence"),
    "unknown split": ('split = "train"', 'split = "trian"', "'split'", "did you mean 'train'?"),
    "unknown tier": ('tier = "easy"', 'tier = "eazy"', "'tier'", "did you mean 'easy'?"),
    "unknown kind": ('kind = "function"', 'kind = "functoin"', "'kind'", "did you mean 'function'?"),
    "bad key": ('key = "judging/add_two"', 'key = "Add Two"', "'key'", "pack/name"),
    "bad version": ('version = "1.0.0"', 'version = "one"', "'version'", "1.0.0"),
    "empty value": ('cluster = "addition"', 'cluster = ""', "'cluster' is empty", "write a value"),
    "wrong type": ('cluster = "addition"', "cluster = 3", "'cluster' is not a string", "string"),
    "unknown budget": ("cpu_s = 1.0", "cpu = 1.0", "[budgets]: unknown key 'cpu'", "cpu_s"),
    "budget not positive": ("cpu_s = 1.0", "cpu_s = 0", "'cpu_s'", "larger"),
    "unknown setting": (
        "entry_point =",
        "entrypoint =",
        "[function]: unknown key",
        "did you mean 'entry_point'?",
    ),
    "no name": ('entry_point = "add_two"', 'entry_point = "add two"', "'entry_point'", ""),
    "another gold": ('entry_point = "add_two"', 'entry_point = "add"', "solution/solution.py", "defines add"),
    "no TOML": ('key = "', "key = ", "pool.toml", "TOML"),
}


@pytest.mark.parametrize("fault", POOL_FAULTS)
def test_a_fault_in_pool_toml_names_file_field_and_remedy(folder: Path, fault: str) -> None:
    old, new, said, remedy = POOL_FAULTS[fault]
    edit(folder / "pool.toml", old, new)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(folder) in caught.value.message
    assert said in caught.value.message
    assert remedy in caught.value.remedy
    assert caught.value.exit_code == 2


CASE_FAULTS: dict[str, tuple[object, str]] = {
    "no case": ([], "empty"),
    "no list": ({"args": [], "expected": 1}, "not a list"),
    "no answer": ([{"args": [1, 2]}], "either 'expected' or 'raises'"),
    "two answers": ([{"args": [], "expected": 1, "raises": "ValueError"}], "either"),
    "no arguments": ([{"expected": 1}], "'args' is missing"),
    "unknown key": ([{"args": [], "expected": 1, "tolerence": 1e-9}], "unknown key 'tolerence'"),
    "unknown exception": ([{"args": [], "raises": "ValeError"}], "ValeError"),
    "unknown tag": ([{"args": [], "expected": {"$tupel": [1]}}], "$tupel"),
    "bad argument": ([{"args": [{"$set": [[1]]}], "expected": 1}], "hashable"),
}


@pytest.mark.parametrize("fault", CASE_FAULTS)
def test_a_fault_in_the_cases_names_the_case(folder: Path, fault: str) -> None:
    rows, said = CASE_FAULTS[fault]
    (folder / "tests/cases.json").write_text(json.dumps(rows))
    with pytest.raises(TaskError, match=r"cases\.json") as caught:
        load_task(folder)
    assert said in caught.value.message


@pytest.mark.parametrize(
    "name", ["task.toml", "pool.toml", "instruction.md", "environment/solution.py", "public/examples.json"]
)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(TaskError, match="is missing") as caught:
        load_task(folder)
    assert name in caught.value.message


def test_a_task_without_gold_says_what_to_add(folder: Path) -> None:
    shutil.rmtree(folder / "solution")
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(folder) in caught.value.message
    assert "gold solution as solution/solution.py" in caught.value.remedy


HARBOR_FAULTS = {
    "above memory": ("memory_mb = 256", "memory_mb = 64", "memory_mb = 128", "environment.memory_mb"),
    "above time": ("timeout_sec = 30", "timeout_sec = 3", "", "verifier.timeout_sec"),
    "no number": ("memory_mb = 256", 'memory_mb = "2G"', "", "environment.memory_mb"),
    "zero": ("timeout_sec = 30", "timeout_sec = 0", "", "verifier.timeout_sec"),
    "older": ("memory_mb = 256", 'memory = "2G"', "", "environment.memory"),
    "docker": ("cpus = 1", 'docker_image = "x:1"', "", "environment.docker_image"),
}


@pytest.mark.parametrize("fault", HARBOR_FAULTS)
def test_a_limit_of_task_toml_that_is_not_kept_is_refused(folder: Path, fault: str) -> None:
    old, new, budget, said = HARBOR_FAULTS[fault]
    edit(folder / "task.toml", old, new)
    (folder / "pool.toml").write_text((folder / "pool.toml").read_text() + f"{budget}\n")
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert f"{folder}/task.toml: field '{said}'" in caught.value.message
    assert caught.value.remedy


def test_a_default_budget_is_lowered_to_the_limit_of_task_toml(folder: Path) -> None:
    edit(folder / "task.toml", "memory_mb = 256", "memory_mb = 64\nstorage_mb = 4096")
    budgets = load_task(folder).settings["budgets"]
    assert (budgets["memory_mb"], budgets["disk_mb"], budgets["wall_s"]) == (64, 16, 4.0)


def test_a_budget_that_no_jail_can_have_is_refused_now(folder: Path) -> None:
    (folder / "pool.toml").write_text((folder / "pool.toml").read_text() + "disk_mb = 1e9\n")
    with pytest.raises(TaskError, match=r"pool\.toml \[budgets\]: limit disk_mb"):
        load_task(folder)


def test_the_page_on_tasks_has_every_budget_with_its_default() -> None:
    page = (Path(__file__).parents[1] / "docs/tasks.md").read_text()
    for name, value in DEFAULT_BUDGETS.items():
        assert f"| `{name}` | {value:g} |" in page


def test_a_start_that_does_not_parse_and_an_empty_statement_are_named(folder: Path) -> None:
    start = folder / "environment/solution.py"
    whole = start.read_text()
    start.write_text("def add_two(a, b:\n")
    with pytest.raises(TaskError, match=r"environment/solution\.py: SyntaxError"):
        load_task(folder)
    start.write_text(whole)
    (folder / "instruction.md").write_text(" \n")
    with pytest.raises(TaskError, match=r"instruction\.md is empty"):
        load_task(folder)


@pytest.mark.parametrize("image", ["default", "sha256:12ab", "sha256:" + "G" * 64])
def test_an_image_is_named_by_its_whole_digest(folder: Path, image: str) -> None:
    edit(folder / "pool.toml", 'split = "train"', f'split = "train"\nimage = "{image}"')
    with pytest.raises(TaskError, match=r"pool\.toml: field 'image'") as caught:
        load_task(folder)
    assert "appliance image list" in caught.value.remedy


def test_the_environment_hash_covers_image_and_environment(folder: Path) -> None:
    before = load_task(folder)
    edit(folder / "pool.toml", 'split = "train"', f'split = "train"\nimage = "sha256:{"0" * 64}"')
    named = load_task(folder)
    assert named.image == f"sha256:{'0' * 64}"
    (folder / "environment/data.txt").write_text("x")
    assert len({before.env_hash, named.env_hash, load_task(folder).env_hash}) == 3


def test_an_empty_name_is_no_task() -> None:
    with pytest.raises(UsageError, match="empty"):
        find_task("")


def test_task_toml_must_name_the_same_task(folder: Path) -> None:
    edit(folder / "task.toml", 'name = "judging/add_two"', 'name = "judging/other"')
    with pytest.raises(TaskError, match=r"task\.name"):
        load_task(folder)


def test_a_link_in_a_task_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "environment/data").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="not a regular file"):
        load_task(folder)


def test_two_equal_keys_are_refused(pack: Path) -> None:
    shutil.copytree(pack / "digit_seven", pack / "other")
    with pytest.raises(TaskError, match="'tiny/digit_seven' is there twice") as caught:
        load_pack(pack)
    assert "digit_seven" in caught.value.remedy


def test_a_cluster_in_two_splits_is_refused(pack: Path) -> None:
    edit(pack / "digit_week/pool.toml", 'cluster = "digit-week"', 'cluster = "digit-seven"')
    with pytest.raises(TaskError, match="'digit-seven' is in two splits"):
        load_pack(pack)


def test_a_task_of_another_pack_is_refused(pack: Path) -> None:
    edit(pack / "pack.toml", 'name = "tiny"', 'name = "teeny"')
    with pytest.raises(TaskError, match="not of the pack 'teeny'"):
        load_pack(pack)


def test_pack_toml_is_strict(pack: Path) -> None:
    edit(pack / "pack.toml", "licence", "license")
    with pytest.raises(TaskError, match="unknown key 'license'") as caught:
        load_pack(pack)
    assert "did you mean 'licence'?" in caught.value.remedy


def test_a_task_whose_pool_toml_has_another_name_does_not_vanish(pack: Path) -> None:
    (pack / "digit_seven/pool.toml").rename(pack / "digit_seven/pool.tml")
    with pytest.raises(TaskError, match=r"digit_seven: pool\.toml is missing"):
        load_pack(pack)


def test_an_empty_pack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pack.toml").write_text('name = "x"\nversion = "1.0.0"\nlicence = "Apache-2.0"\n')
    with pytest.raises(TaskError, match="no task"):
        load_pack(tmp_path)


CHANGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "statement": (lambda f: (f / "instruction.md").write_text("Other."), {"task", "public"}),
    "hidden case": (lambda f: edit(f / "tests/cases.json", "123", "124"), {"task", "hidden"}),
    "gold": (lambda f: edit(f / "solution/solution.py", "a + b", "b + a"), {"task", "hidden"}),
    "new hidden file": (lambda f: (f / "tests/more.txt").write_text(""), {"task", "hidden"}),
    "tier": (lambda f: edit(f / "pool.toml", '"easy"', '"core"'), {"task"}),
    "executable bit": (lambda f: (f / "tests/cases.json").chmod(0o755), {"task", "hidden"}),
    "change record": (lambda f: (f / "CHANGES.jsonl").write_text("{}"), set()),
    "compiled cache": (lambda f: (f / "__pycache__").mkdir(), set()),
    "time": (lambda f: os.utime(f / "instruction.md", (1, 1)), set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_hash_covers_its_part(folder: Path, change: str) -> None:
    before = load_task(folder)
    apply, touched = CHANGES[change]
    apply(folder)
    after = load_task(folder)
    moved = {name for name in ("task", "public", "hidden") if _hash(before, name) != _hash(after, name)}
    assert moved == touched


def _hash(task: object, name: str) -> str:
    return str(getattr(task, f"{name}_hash"))


def test_hashes_do_not_depend_on_the_place(folder: Path) -> None:
    assert load_task(folder).task_hash == load_task(DATA / "pack_judging/add_two").task_hash


def test_a_task_that_changed_after_loading_is_not_judged(folder: Path) -> None:
    task = load_task(folder)
    assert function.totals(task) == (2, 10)
    (folder / "tests/cases.json").write_text(json.dumps([{"args": [1, 2], "expected": 3}]))
    assert function.totals(task) == (2, 10)
    other = Path(shutil.copytree(folder, folder.parent / "other"))
    moved = load_task(other)
    edit(other / "tests/cases.json", "3", "4")
    with pytest.raises(IntegrityError, match="changed after it was loaded"):
        function.totals(moved)


def test_a_task_is_found_by_key_and_by_folder() -> None:
    packs = [DATA / "pack_tiny", DATA / "pack_judging"]
    by_key = find_task("judging/add_two", packs)
    assert by_key == find_task(str(DATA / "pack_judging/add_two"), [])


@pytest.mark.parametrize(
    ("reference", "remedy"),
    [
        ("judging/add_tow", "did you mean 'judging/add_two'?"),
        ("judging/../pack_tiny/digit_seven", "did you mean"),
        ("add_two", "did you mean 'judging/add_two'?"),
        ("nothing", "known: "),
    ],
)
def test_an_unknown_task_gets_the_nearest_key(reference: str, remedy: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_task(reference, [DATA / "pack_tiny", DATA / "pack_judging"])
    assert remedy in caught.value.remedy
    assert caught.value.exit_code == 4


def test_a_folder_that_is_no_task_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("")
    with pytest.raises(TaskError, match=r"pool\.toml is missing"):
        find_task(str(tmp_path))
    with pytest.raises(ApplianceError):
        load_task(tmp_path / "nowhere")


def test_kinds_and_shipped_packs_are_found_by_their_files() -> None:
    assert "function" in kind_names()
    assert not any(name.endswith("_worker") for name in kind_names())
    assert all((path / "pack.toml").is_file() for path in shipped_packs().values())
