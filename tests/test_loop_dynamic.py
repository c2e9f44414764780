"""Draws in a run: what is dead is drawn anew but never for ever, canaries are tried and teach nothing."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from appliance.draw import Asked, draw_adaptive
from appliance.pool.index import load_cards
from appliance.recipe import load_recipe
from appliance.store import Store
from tests.test_loop import PACK, appliance

pytestmark = pytest.mark.jail
RECIPE = """
name = "dynamic"
seed = {seed}
[model]
gguf = "{model}"
[tasks]
packs = ["{pack}"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 2
[grpo]
updates = 4
tasks_per_update = 2
attempts_per_task = 2
dynamic = 2
rank = 4
alpha = 8.0
[engine]
slots = 16
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny pack, and a canary that the tiny model can hit by chance."""
    folder = tmp_path_factory.mktemp("packs") / "pack_tiny"
    shutil.copytree(PACK, folder)
    source = next(path.parent for path in sorted(folder.glob("*/pool.toml")) if "train" in path.read_text())
    canary = folder / "canary"
    shutil.copytree(source, canary)
    for name in ("pool.toml", "task.toml"):
        text = (canary / name).read_text().replace(f'/{source.name}"', '/canary"')
        text = text.replace('split = "train"', 'split = "canary"').replace(
            'cluster = "', 'cluster = "canary-'
        )
        (canary / name).write_text(text)
    return folder


def seed_with_a_canary(recipe: Path, pack: Path) -> int:
    """The first seed whose first update draws the canary."""
    tasks = load_cards(pack)
    train, canaries = ([task for task in tasks if task.split == split] for split in ("train", "canary"))
    for seed in range(1000):
        settings, _ = load_recipe(recipe, seed=seed)
        if any(one.share == "canary" for one in draw_adaptive(train, canaries, [], settings, Asked(1, 2))):
            return seed
    raise AssertionError("no seed draws the canary")


def test_dead_groups_are_drawn_anew_and_canaries_teach_nothing(
    tiny_model: Path, pack: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(model=tiny_model, pack=pack, seed=0))
    seed = seed_with_a_canary(recipe, pack)
    done = appliance(tmp_path, "train", recipe, "--seed", str(seed), "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        drawn = [event for event in store.events() if event.kind == "tasks.drawn"]
        _, attempts = store.attempts(printed["run"], limit=10_000)
        updates = store.updates(printed["run"])
    rounds = defaultdict(list)
    for event in drawn:
        rounds[event.data["step"]].append(event.data)
    for row in updates:
        counts = row["metrics"]
        live = counts["groups"] - counts["dead_fail"] - counts["dead_pass"]
        assert live == 2 or len(rounds[row["step"]]) == 3 or counts["groups"] >= 3
        keys = [choice["task_key"] for data in rounds[row["step"]] for choice in data["choices"]]
        assert len(keys) == len(set(keys))
    assert len(updates) == 4 and any(len(found) > 1 for found in rounds.values())
    canaries = [row for row in attempts if row["purpose"] == "canary"]
    assert {row["task_key"].rpartition("/")[2] for row in canaries} == {"canary"}
    assert len(canaries) >= 2 and all(row["status"] for row in canaries)
    passed = [row["id"] for row in canaries if row["reward"]]
    listed = appliance(tmp_path, "alarm", "list", "--json")
    alarms = {(row["signal"], row["subject"]): row for row in json.loads(listed.stdout)["alarms"]}
    assert (("M1", "tiny/canary") in alarms) == bool(passed)
    assert listed.returncode == int(any(row["level"] == "critical" for row in alarms.values()))
    shown = appliance(tmp_path, "alarm", "curves", printed["run"], "--by", "task", "--json")
    curves = json.loads(shown.stdout)["curves"]
    uniform = {
        choice["task_key"]
        for event in drawn
        for choice in event.data["choices"]
        if choice["share"] == "uniform"
    }
    assert set(curves) == uniform
    trained = sum(row["metrics"]["attempts"] for row in updates)
    assert trained == sum(row["purpose"] == "train" for row in attempts)


def test_a_run_that_wants_approved_tasks_finds_none_in_drafts(tiny_model: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    text = RECIPE.format(model=tiny_model, pack=PACK, seed=0)
    recipe.write_text(text.replace("[sampling]", "approved_only = true\n[sampling]"))
    done = appliance(tmp_path, "train", recipe, "--json")
    assert done.returncode != 0
    assert "hold 0 train tasks" in done.stderr and "approved_only" in done.stderr
