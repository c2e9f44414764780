"""The starter model is assembled once, proven by its hash, and every way it can be missing has one message."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.errors import IntegrityError, ModelError
from appliance.paths import Paths
from appliance.starter import _PACKAGE, STARTER_NAME, starter_model

ROOT = Path(__file__).resolve().parents[1]
needs_package = pytest.mark.skipif(
    importlib.util.find_spec(_PACKAGE) is None, reason="the starter packages are not installed"
)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(data=tmp_path / "data", cache=tmp_path / "cache")


def put_package(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the starter's name that is found before the installed one."""
    (folder / _PACKAGE).mkdir()
    (folder / _PACKAGE / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, _PACKAGE, raising=False)


@pytest.mark.slow
@needs_package
def test_it_is_assembled_once_and_again_when_damaged(paths: Paths) -> None:
    model = starter_model(paths)
    made = model.stat().st_mtime_ns
    assert starter_model(paths).stat().st_mtime_ns == made
    with model.open("r+b") as stream:
        stream.write(b"XXXX")
    assert starter_model(paths) == model == paths.cache / "models" / STARTER_NAME
    assert model.open("rb").read(4) == b"GGUF"
    assert [path.name for path in model.parent.iterdir()] == [STARTER_NAME]


def test_without_the_package_the_remedy_is_the_command(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_package(tmp_path, "raise ModuleNotFoundError('No module named x')", monkeypatch)
    with pytest.raises(ModelError) as caught:
        starter_model(paths)
    assert caught.value.remedy == "pip install 'post-training-appliance[starter]'"
    assert not paths.cache.exists()


def test_a_missing_part_is_named(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_package(tmp_path, f"def chunk_paths(): return ['{tmp_path}/part00']", monkeypatch)
    with pytest.raises(ModelError, match="part00"):
        starter_model(paths)


def test_parts_with_another_hash_leave_nothing_behind(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part00").write_bytes(b"GGUF but not ours")
    put_package(tmp_path, f"def chunk_paths(): return ['{tmp_path}/part00']", monkeypatch)
    with pytest.raises(IntegrityError, match="SHA-256"):
        starter_model(paths)
    assert list((paths.cache / "models").iterdir()) == []


@needs_package
def test_a_full_disk_is_one_clear_message_and_leaves_nothing_behind(paths: Paths) -> None:
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from appliance.errors import StoreError\n"
        "from appliance.paths import Paths\n"
        "from appliance.starter import starter_model\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "try:\n"
        "    starter_model(Paths(Path(sys.argv[1]), Path(sys.argv[1])))\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(paths.cache)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "cannot be written" in run.stdout
    assert "remedy: free 300 MB" in run.stdout
    assert list((paths.cache / "models").iterdir()) == []
