"""Recipes: what is read, where a value came from, and what a person is told about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.errors import ConfigError
from appliance.recipe import Recipe, load_recipe, recipe_from_json

MINIMAL = 'name = "small"\n[model]\ngguf = "starter"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    return path


def test_the_shipped_recipe_is_read() -> None:
    recipe, _ = load_recipe(Path(__file__).parents[1] / "recipes" / "starter.toml")
    assert recipe.tasks.packs == ("starter",)


def test_every_value_remembers_where_it_came_from(tmp_path: Path) -> None:
    recipe, origins = load_recipe(write(tmp_path, MINIMAL + "[grpo]\nupdates = 3\n"), seed=7)
    assert (recipe.seed, recipe.grpo.updates) == (7, 3)
    assert origins.of["seed"] == "flag"
    assert origins.of["grpo.updates"] == "file"
    assert origins.of["grpo.rank"] == "default"


def test_a_resolved_recipe_reads_back_equal(tmp_path: Path) -> None:
    recipe, _ = load_recipe(write(tmp_path, MINIMAL))
    as_stored = __import__("json").loads(__import__("json").dumps(recipe.to_json()))
    assert recipe_from_json(as_stored, "recipe.json") == recipe
    assert isinstance(recipe, Recipe)


def test_paths_are_relative_to_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    text = 'name = "x"\n[model]\ngguf = "model.gguf"\n[tasks]\npacks = ["./pack", "starter"]\n'
    recipe, _ = load_recipe(write(tmp_path, text))
    assert recipe.model.gguf == str(tmp_path / "model.gguf")
    assert recipe.tasks.packs == (str(tmp_path / "pack"), "starter")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MINIMAL + "[grpo]\nupdats = 3\n", ["grpo.updats", "updates"]),
        (MINIMAL.replace("small", "../../evil"), ["'name'", "letters, digits"]),
        (MINIMAL.replace("small", ""), ["'name'"]),
        (MINIMAL.replace("small", "a b"), ["'name'"]),
        (MINIMAL.replace("small", "a" * 61), ["'name'", "60"]),
        (MINIMAL.replace("starter", "startr"), ["model.gguf", "startr", "starter"]),
        (MINIMAL.replace("starter", "."), ["model.gguf"]),
        (MINIMAL + "[grpo]\nlearning_rate = nan\n", ["grpo.learning_rate", "finite"]),
        (MINIMAL + "[budget]\nminutes = inf\n", ["budget.minutes", "finite"]),
        (MINIMAL + "[grpp]\nupdates = 3\n", ["grpp", "grpo"]),
        (MINIMAL + '[grpo]\nupdates = "three"\n', ["grpo.updates", "int"]),
        (MINIMAL + "[grpo]\nupdates = true\n", ["grpo.updates", "int"]),
        (MINIMAL + "[grpo]\nattempts_per_task = 1\n", ["grpo.attempts_per_task", "2 or more"]),
        (MINIMAL + "[grpo]\nlearning_rate = 3.0\n", ["grpo.learning_rate", "1.0 or less"]),
        (MINIMAL + '[learner]\ndevice = "tpu"\n', ["learner.device", "cuda"]),
        (MINIMAL + "grpo = 3\n", ["model.grpo"]),
        ("grpo = 3\n" + MINIMAL, ["'grpo' must be a table"]),
        (MINIMAL + "[tasks]\npacks = []\n", ["tasks.packs", "list"]),
        ('[model]\ngguf = "starter"\n', ["'name' is missing"]),
        ("name = \n", ["not valid TOML", "line 1"]),
    ],
)
def test_a_wrong_recipe_names_file_key_and_remedy(tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_recipe(write(tmp_path, text))
    message = str(caught.value)
    assert str(tmp_path / "recipe.toml") in message
    assert "remedy:" in message
    for words in told:
        assert words in message


def test_a_missing_recipe_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_recipe(tmp_path / "absent.toml")


def test_what_is_no_text_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF\xff\xfe")
    with pytest.raises(ConfigError, match="not a text file"):
        load_recipe(tmp_path / "model.gguf")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_recipe(tmp_path)
