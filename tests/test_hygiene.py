"""What starting costs: heavy libraries load only where they are used, and help answers without them.

Each module is imported in an interpreter of its own, so that none passes because of another. Time is printed,
never asserted; what is asserted is how many modules load.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    *("torch", "transformers", "peft", "safetensors", "gguf", "llama_cpp", "numpy"),
    *("textual", "rich", "huey", "matplotlib", "sqlite_utils", "zstandard"),
}
# sqlite_utils imports numpy where it finds it.
OWN = {module: {"sqlite_utils", "numpy"} for module in ("appliance.store", "appliance.schema")}
HELP_MODULES = 140
"""Bare Python loads 33 modules and click 62 more; `appliance --help` must stay near that."""

_REPORT = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"


def _modules(*folders: str) -> list[str]:
    paths = [path for folder in folders for path in sorted((ROOT / "appliance" / folder).glob("*.py"))]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


CORE = _modules("", "kinds", "harness")
LIGHT = [
    *CORE,
    *_modules("cli", "doctor"),
    "appliance.sandbox.policy",
    "appliance.sandbox.client",
    "appliance.sandbox.remote",
]
CLIENTS = ["appliance.engine.client", "appliance.learn.client"]


def loaded(module: str, folder: Path = ROOT) -> set[str]:
    """The top-level names that a fresh interpreter holds after importing `module`."""
    code = f"import {module}\n{_REPORT}"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", [*LIGHT, *CLIENTS])
def test_a_module_loads_no_heavy_library(module: str) -> None:
    assert loaded(module) & (HEAVY - OWN.get(module, set())) == set()


@pytest.mark.parametrize(
    ("module", "library"), [("appliance.tui.app", "textual"), ("appliance.queue.client", "huey")]
)
def test_a_room_loads_no_library_of_another_room(module: str, library: str) -> None:
    companions = {"rich"} if library == "textual" else set()
    assert loaded(module) & (HEAVY - companions - {library}) == set()


def test_a_heavy_library_two_imports_away_is_seen(tmp_path: Path) -> None:
    (tmp_path / "near.py").write_text("import far\n")
    (tmp_path / "far.py").write_text("import numpy\n")
    assert loaded("near", tmp_path) & HEAVY == {"numpy"}


def started(arguments: list[str]) -> tuple[str, set[str], float]:
    """What the command line prints, which modules it loads, and how long the whole process takes."""
    code = "import sys; from appliance.cli.main import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    began = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return run.stdout, set(run.stderr.split()), time.monotonic() - began


def test_help_loads_few_modules_and_names_every_verb() -> None:
    text, modules, seconds = started(["--help"])
    print(f"appliance --help: {len(modules)} modules, {seconds * 1000:.0f} ms")
    assert len(modules) <= HELP_MODULES
    assert modules & HEAVY == set()
    assert [verb for verb in VERBS if f"\n  {verb} " not in text] == []


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_help_of_a_verb_loads_no_heavy_library(verb: str) -> None:
    text, modules, _ = started([verb, "--help"])
    assert f"Usage: appliance {verb}" in text
    assert modules & HEAVY == set()
