"""The documentation describes the program as it is: every verb, setting and shown command."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from appliance.cli.main import VERBS
from appliance.recipe import Recipe

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
RECIPE_PAGE = ROOT / "docs" / "recipe.md"
HEAD = """# Recipe keys

A recipe is a TOML file. An unknown key, a wrong type or a value out of bounds is an error that names the file, the key
and the remedy. Paths are relative to the recipe. `recipes/starter.toml` is a complete example. This page is generated
from the program (`python tests/test_docs.py`), and a test fails when it is stale.

| key | type | default | meaning |
|---|---|---|---|
"""


def recipe_page() -> str:
    return HEAD + "".join(
        f"| `{key}` | {kind} | {default} | {text} |\n" for key, kind, default, text in rows(Recipe)
    )


def rows(cls: Any, prefix: str = "") -> list[tuple[str, str, str, str]]:
    found, hints = [], get_type_hints(cls)
    for item in dataclasses.fields(cls):
        if dataclasses.is_dataclass(hints[item.name]):
            found += rows(hints[item.name], f"{prefix}{item.name}.")
            continue
        default = "required" if item.default is dataclasses.MISSING else f"`{item.default!r}`"
        kind = getattr(hints[item.name], "__name__", "list")
        choices = item.metadata.get("choices")
        text = item.metadata["help"] + (f" (one of {', '.join(choices)})" if choices else "")
        found.append((prefix + item.name, "list of str" if kind == "tuple" else kind, default, text))
    return found


def test_the_recipe_page_is_generated_from_the_program() -> None:
    assert RECIPE_PAGE.read_text() == recipe_page(), "run: python tests/test_docs.py"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_no_page_shows_a_placeholder_for_what_a_command_prints(page: Path) -> None:
    """A block of one word in capitals is where figures were to be put."""
    assert not re.findall(r"^```\w*\n[A-Z_ ]+\n```$", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_a_page_links_to_pages_that_exist(page: Path) -> None:
    linked = re.findall(r"\]\(([\w/.-]+\.md)\)", page.read_text())
    assert not [name for name in linked if not (page.parent / name).exists()]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_readme_names_every_verb(verb: str) -> None:
    assert f"appliance {verb}" in README


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help(verb: str) -> None:
    done = subprocess.run([sys.executable, "-m", "appliance", verb, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "Usage: appliance" in done.stdout


def shown_commands() -> list[str]:
    """The commands of README's and docs' shell blocks that begin with the program's name, but for the long run."""
    pages = README + (ROOT / "docs" / "jails.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", pages, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("appliance ") and " train " not in line]


@pytest.mark.jail
@pytest.mark.parametrize("line", shown_commands())
def test_a_shown_command_works(line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_links_of_the_documentation_exist() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_file_is_sound(tmp_path: Path) -> None:
    text = (ROOT / "systemd" / "appliance-train@.service").read_text()
    unit = tmp_path / "appliance-train@.service"
    unit.write_text(text.replace("/opt/appliance/.venv/bin/python", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert str(unit.name).split("@")[0] not in done.stderr, done.stderr


if __name__ == "__main__":
    RECIPE_PAGE.write_text(recipe_page())
