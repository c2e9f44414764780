"""What a person is told when a run cannot be: one clear message, a documented exit code, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import events
from appliance.store import Store

pytestmark = pytest.mark.jail
PACK = Path(__file__).parent / "data" / "pack_tiny"


def recipe(folder: Path, model: Path, pack: Path = PACK, extra: str = "") -> Path:
    path = folder / "recipe.toml"
    path.write_text(
        f'name = "bad"\n[model]\ngguf = "{model}"\n[tasks]\npacks = ["{pack}"]\n[sampling]\nmax_tokens = 1\n'
        f"[grpo]\nupdates = 1\ntasks_per_update = 2\nattempts_per_task = 2\n{extra}"
    )
    return path


def train(home: Path, path: Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-m", "appliance", "train", str(path)]
    environment = {**os.environ, "APPLIANCE_HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def told(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "remedy:" in done.stderr
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""


def no_runs(home: Path) -> bool:
    listed = subprocess.run(
        [sys.executable, "-m", "appliance", "run", "list", "--json"],
        env={**os.environ, "APPLIANCE_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    return json.loads(listed.stdout)["runs"] == []


def test_an_unknown_recipe_key(tmp_path: Path, tiny_model: Path) -> None:
    path = recipe(tmp_path, tiny_model, extra="lerning_rate = 1e-4\n")
    told(train(tmp_path, path), 2, str(path), "grpo.lerning_rate", "learning_rate")
    assert no_runs(tmp_path)


def test_a_missing_model_file(tmp_path: Path) -> None:
    told(train(tmp_path, recipe(tmp_path, tmp_path / "absent.gguf")), 2, "absent.gguf")
    assert no_runs(tmp_path)


def test_a_truncated_model(tmp_path: Path, tiny_model: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_model.read_bytes()[:200_000])
    told(train(tmp_path, recipe(tmp_path, cut)), 2, "cut.gguf")
    assert no_runs(tmp_path)


def test_an_unsupported_architecture(tmp_path: Path, tiny_model: Path) -> None:
    other = tmp_path / "mamba.gguf"
    other.write_bytes(tiny_model.read_bytes().replace(b"llama", b"mamba"))
    told(train(tmp_path, recipe(tmp_path, other)), 2, "mamba")
    assert no_runs(tmp_path)


def test_a_task_without_gold(tmp_path: Path, tiny_model: Path) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(PACK, pack)
    broken = sorted(path.parent for path in pack.glob("*/task.toml"))[0]
    shutil.rmtree(broken / "solution")
    told(train(tmp_path, recipe(tmp_path, tiny_model, pack)), 2, broken.name, "solution")
    assert no_runs(tmp_path)


def test_a_pack_with_two_equal_keys(tmp_path: Path, tiny_model: Path) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(PACK, pack)
    first = sorted(path.parent for path in pack.glob("*/task.toml"))[0]
    shutil.copytree(first, pack / "copy_of_it")
    told(train(tmp_path, recipe(tmp_path, tiny_model, pack)), 2, "copy_of_it")
    assert no_runs(tmp_path)


def test_a_pack_that_does_not_exist(tmp_path: Path, tiny_model: Path) -> None:
    path = recipe(tmp_path, tiny_model, tmp_path / "absent")
    told(train(tmp_path, path), 2, f"{path}: tasks.packs", "absent", "starter")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('[learner]\ndevice = "cuda"\n', "'learner.device' is 'cuda', but torch finds no CUDA device"),
        (
            "[engine]\ngpu_layers = 3\n",
            "'engine.gpu_layers' is 3, but this llama.cpp was built without a GPU",
        ),
    ],
)
def test_a_device_that_is_not_there_is_refused_before_a_run_is_recorded(
    tmp_path: Path, tiny_model: Path, extra: str, said: str
) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU here")
    path = recipe(tmp_path, tiny_model, extra=extra)
    told(train(tmp_path, path), 2, f"{path}: {said}")
    assert no_runs(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A home whose data folder is a disk of 16 MiB."""
    data = tmp_path / "home" / "data"
    data.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(data)], check=True)
    try:
        yield data
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)


def states(home: Path) -> list[str]:
    with Store(home / "data" / "store.db", home / "data" / "objects") as store:
        assert events.verify(store.events()) > 0
        return [row["state"] for row in store.runs()]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_ends_a_run_and_leaves_the_earlier_one(
    small_disk: Path, tmp_path: Path, tiny_model: Path
) -> None:
    home, path = small_disk.parent, recipe(tmp_path, tiny_model)
    first = train(home, path)
    assert first.returncode == 0, first.stderr
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 60_000))
    second = train(home, path)
    told(second, 1, str(small_disk), "free disk space")
    filler.unlink()
    assert states(home)[-1] == "finished"
    third = train(home, path)
    assert third.returncode == 0, third.stderr
    assert states(home).count("finished") == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="mapping every uid needs root")
def test_no_user_namespaces(tmp_path: Path, tiny_model: Path) -> None:
    launcher = Path(__file__).parent / "data" / "without_user_namespaces.py"
    done = train(tmp_path, recipe(tmp_path, tiny_model), (sys.executable, str(launcher)))
    told(done, 1, "user namespace")
    assert no_runs(tmp_path)
