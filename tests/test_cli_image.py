"""`appliance image` as a user types it: one JSON object or safe text, and an exit code that means one thing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202ename"


def appliance(home: Path, *arguments: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "appliance", "image", *arguments],
        cwd=ROOT,
        env={"APPLIANCE_HOME": str(home), "PATH": path},
        capture_output=True,
        text=True,
    )


def told(home: Path, *arguments: str) -> dict[str, Any]:
    run = appliance(home, *arguments, "--json")
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def archive(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one image that was imported, from a file and with entries of hostile names."""
    folder = tmp_path_factory.mktemp("home")
    file = archive(folder / f"{HOSTILE}.tar", "etc/motd", f"bin/{HOSTILE}", f"bin/{HOSTILE}")
    made = told(folder, "import", str(file), "--name", "small:1")
    assert made["names"] == ["small:1"]
    assert made["digest"].startswith("sha256:")
    assert HOSTILE in made["source"]
    assert "owned" in made["notes"][0]
    return folder


def test_list_shows_name_digest_source_and_size_and_no_control_characters(home: Path) -> None:
    (row,) = told(home, "list")["images"]
    assert row["size_bytes"] > 0
    text = appliance(home, "list").stdout
    assert "small:1" in text
    assert row["digest"][:19] in text
    assert "MiB" in text
    assert "1 image\n" in text
    assert not {character for character in text if not character.isprintable()} - {"\n"}


def test_verify_answers_for_all_and_for_one_and_gives_7_for_a_change(home: Path, tmp_path: Path) -> None:
    made = told(tmp_path, "import", str(archive(tmp_path / "a.tar", "etc/motd")), "--name", "mine")
    assert told(tmp_path, "verify")["ok"]
    assert told(tmp_path, "verify", made["digest"][:20])["images"][0]["seen"] == made["digest"]
    (motd,) = tmp_path.glob("cache/images/*/root/etc/motd")
    motd.write_text("changed")
    run = appliance(tmp_path, "verify", "mine", "--json")
    assert run.returncode == 7
    assert not json.loads(run.stdout)["ok"]
    assert "CHANGED" in appliance(tmp_path, "verify").stdout
    assert appliance(home, "verify").returncode == 0
    assert told(tmp_path, "gc")["removed"] == [made["digest"]]
    assert told(tmp_path, "list")["images"] == []


@pytest.mark.parametrize("harm", ["missing", "short"])
def test_a_damaged_image_is_named_and_gives_7(tmp_path: Path, harm: str) -> None:
    told(tmp_path, "import", str(archive(tmp_path / "a.tar", "etc/motd")), "--name", "mine")
    (marker,) = tmp_path.glob("cache/images/*/image.json")
    marker.unlink() if harm == "missing" else marker.write_text(marker.read_text()[:-20])
    for arguments in (["verify"], ["verify", "mine"], ["verify", marker.parent.name.replace("-", ":")[:30]]):
        run = appliance(tmp_path, *arguments)
        assert run.returncode == 7, run.stderr
        assert marker.parent.name in run.stdout + run.stderr
    assert list(json.loads(appliance(tmp_path, "verify", "--json").stdout)["damaged"]) == [marker.parent.name]
    assert list(told(tmp_path, "list")["damaged"]) == [marker.parent.name]
    assert "DAMAGED" in appliance(tmp_path, "list").stdout
    assert told(tmp_path, "gc")["removed"] == [marker.parent.name]
    assert told(tmp_path, "verify") == {"ok": True, "images": [], "damaged": {}}


def test_gc_says_what_it_would_do_and_then_does_it(home: Path, tmp_path: Path) -> None:
    for body in ("one", "two"):
        (tmp_path / body).mkdir()
        (tmp_path / body / "file").write_text(body)
        told(tmp_path, "build", "--from", str(tmp_path / body), "--name", "same")
    first = told(tmp_path, "gc", "--dry-run")
    assert len(first["removed"]) == 1
    assert "would remove sha256:" in appliance(tmp_path, "gc", "--dry-run").stdout
    assert told(tmp_path, "gc")["removed"] == first["removed"]
    (row,) = told(tmp_path, "list")["images"]
    assert row["names"] == ["same"]


def test_the_default_image_has_a_name_and_stays(tmp_path: Path) -> None:
    made = told(tmp_path, "build")
    assert made["names"] == ["default"]
    assert made["source"].startswith("host ")
    assert told(tmp_path, "build")["digest"] == made["digest"]
    (tmp_path / "cache/images/.names/default").unlink()
    assert told(tmp_path, "gc")["removed"] == []
    assert told(tmp_path, "verify", made["digest"])["ok"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["import", "/absent.tar", "--name", "x"], 4, "no archive"),
        (["import", "/etc/passwd", "--name", "x"], 1, "refused"),
        (["import", "/etc/passwd"], 2, "--name"),
        (["import", "/etc/passwd", "--name", "../x"], 2, "no name"),
        (["build", "--from", "/absent", "--name", "x"], 4, "no folder"),
        (["build", "--from", "/etc"], 2, "--name"),
        (["build", "--from", "/etc", "--debian", "bookworm"], 2, "exclude"),
        (["build", "--python", "/absent"], 4, "no Python"),
        (["build", "--python", "/bin/ls"], 1, "/bin/ls does not run: it ended with 2"),
        (["build", "--mirror", "http://x"], 2, "--debian"),
        (["build", "--name", ""], 2, "no name"),
        (["build", "--debian", "bookworm"], 1, "debootstrap"),
        (["verify", "smal"], 4, "small:1"),
        (["verify", "\x1b[31m"], 4, "no image"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(home: Path, arguments: list[str], code: int, word: str) -> None:
    run = appliance(home, *arguments, path="/nowhere")
    assert run.returncode == code, run.stderr
    assert word in run.stderr
    assert "Traceback" not in run.stderr
    assert "\x1b" not in run.stderr


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    file = tmp_path / "notes\x1b[2J.txt"
    file.write_text("no archive at all\n" * 100)
    run = appliance(tmp_path / "home", "import", str(file), "--name", "x")
    assert run.returncode == 1
    assert str(tmp_path / "notes") in run.stderr
    assert "remedy" in run.stderr
    assert "\x1b" not in run.stderr
