"""`appliance jail run` as a user types it: one JSON object or safe text, and an exit code that means one thing."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from appliance.cli.jail import describe, to_json
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.host import fatal_problem

ROOT = Path(__file__).resolve().parents[1]
needs_jails = pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def appliance(home: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {"APPLIANCE_HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, "-m", "appliance", "jail", "run", *arguments],
        cwd=ROOT,
        env=environment,
        input=stdin,
        capture_output=True,
    )


def object_of(run: subprocess.CompletedProcess[bytes]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(run.stdout)
    return found


def result(status: JailStatus = JailStatus.ok, **fields: Any) -> JailResult:
    plain: dict[str, Any] = {
        "exit_code": 0,
        "signal": None,
        "cpu_s": 0.1,
        "wall_s": 0.2,
        "peak_mib": 3.0,
        "limits": "full",
    }
    return JailResult(status=status, **{**plain, "stdout": b"", "stderr": b"", **fields})


@pytest.mark.jail
@needs_jails
def test_one_json_object_tells_everything(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "with:colon.py"
    source.write_text("import sys; print(open('/job/data/in').read()); sys.exit(3)")
    (tmp_path / "in").write_text("given")
    run = appliance(
        home,
        *("--file", f"{source}:main.py", "--file", f"{tmp_path}/in:data/in", "--json"),
        *("--", "python3", "/job/main.py"),
    )
    assert run.returncode == 0, run.stderr
    found = object_of(run)
    assert found["status"] == "exit"
    assert found["exit_code"] == 3
    assert found["stdout"] == "given\n"
    assert found["limits"] in ("full", "reduced")
    assert set(found) == {
        *(
            "status",
            "exit_code",
            "signal",
            "cpu_s",
            "wall_s",
            "peak_mib",
            "stdout",
            "stderr",
            "limits",
            "detail",
        )
    }


@pytest.mark.jail
@needs_jails
def test_limits_are_taken_from_the_options(home: Path) -> None:
    options = ("--memory-mb", "64", "--pids", "4", "--seconds", "0.4", "--disk-mb", "1", "--json", "--")
    assert object_of(appliance(home, *options, "sleep", "60"))["status"] == "timeout_wall"
    filled = object_of(appliance(home, *options, "dd", "if=/dev/zero", "of=/work/x", "bs=1M", "count=9"))
    assert filled["status"] == "disk"
    forks = object_of(
        appliance(home, *options, "sh", "-c", "sleep 1 & sleep 1 & sleep 1 & sleep 1 & sleep 1 & wait")
    )
    assert forks["status"] in (
        "processes",
        "exit",
        "timeout_wall" if forks["limits"] == "reduced" else "processes",
    )


@pytest.mark.jail
@needs_jails
def test_bytes_that_are_not_text_are_kept_beside_it(home: Path) -> None:
    found = object_of(appliance(home, "--json", "--", "printf", r"a\377\033[31m"))
    assert base64.b64decode(found["stdout_base64"]) == b"a\xff\x1b[31m"
    assert found["stdout"] == "a\\xff\x1b[31m"
    assert "stderr_base64" not in found


@pytest.mark.jail
@needs_jails
def test_a_terminal_sees_no_escape_sequence(home: Path) -> None:
    run = appliance(home, "--", "printf", r"\033]0;title\007\033[31mred\rover")
    assert run.returncode == 0
    assert b"\x1b" not in run.stdout
    assert b"\r" not in run.stdout
    assert b"red" in run.stdout
    assert run.stdout.startswith(b"status     ok\n")


@pytest.mark.jail
@needs_jails
def test_options_of_the_command_stay_its_own(home: Path) -> None:
    found = object_of(appliance(home, "--json", "--", "echo", "--json", "-n"))
    assert found["stdout"] == "--json -n\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "Missing argument"),
        (["--pids", "x", "--", "true"], 2, "--pids"),
        (["--pids", "0", "--", "true"], 2, "--pids': 0 is not in the range"),
        (["--memory-mb", "0", "--", "true"], 2, "--memory-mb': 0 is not in the range"),
        (["--seconds", "nan", "--", "true"], 2, "--seconds"),
        (["--cpu-seconds", "0", "--", "true"], 2, "--cpu-seconds"),
        (["--cpus", "0.001", "--", "true"], 2, "--cpus 0.001 is below 0.01"),
        (["--cpuset", "0,4000", "--", "true"], 2, "--cpuset = '0,4000' names processor 4000"),
        (["--cpuset", "1-0", "--", "true"], 2, "runs backwards"),
        (["--cpuset", "", "--", "true"], 2, "--cpuset is empty"),
        (["--image", "", "--", "true"], 2, "--image is empty"),
        (["--env", "A", "--", "true"], 2, "--env A: not NAME=VALUE"),
        (["--env", "1=2", "--", "true"], 2, "no usable name"),
        (["--file", f"{__file__}:x", "--file", f"{__file__}:x", "--", "true"], 2, "x is given twice"),
        (["--file", "nocolon", "--", "true"], 2, "HOST:NAME"),
        (["--file", "/no/such/file:x", "--", "true"], 4, "/no/such/file"),
        (["--file", "/dev/zero:x", "--", "true"], 4, "/dev/zero"),
        (["--file", f"{__file__}:../x", "--", "true"], 2, "relative path"),
    ],
)
def test_a_mistake_is_named_and_nothing_runs(home: Path, arguments: list[str], code: int, text: str) -> None:
    run = appliance(home, *arguments)
    assert run.returncode == code
    assert run.stdout == b""
    assert text in run.stderr.decode()
    assert "remedy:" in run.stderr.decode() or "Try 'appliance" in run.stderr.decode() or code == 4


@pytest.mark.jail
@needs_jails
def test_input_variables_and_every_limit_reach_the_command(home: Path) -> None:
    run = appliance(home, "--json", "--env", "A=b=c", "--", "sh", "-c", "cat; echo $A", stdin=b"hi\n")
    assert object_of(run)["stdout"] == "hi\nb=c\n"
    flood = object_of(appliance(home, "--json", "--output-kb", "2", "--", "head", "-c", "9999", "/dev/zero"))
    assert (flood["status"], flood["exit_code"], len(flood["stdout"])) == ("output", None, 2048)
    many = "n=0; while touch $n; do n=$((n + 1)); done; exit 1"
    few = object_of(appliance(home, "--json", "--inodes", "20", "--", "sh", "-c", many))
    assert few["status"] == "disk"
    spin = object_of(
        appliance(home, "--json", "--cpu-seconds", "0.3", "--", "sh", "-c", "while :; do :; done")
    )
    assert spin["status"] == "timeout_cpu" or spin["limits"] == "reduced"
    refused = appliance(home, "--", "true", stdin=bytes((64 << 20) + 1))
    assert refused.returncode == 2
    assert b"stdin is larger than 64 MiB" in refused.stderr


def test_a_file_too_large_for_a_jail_is_refused_before_it_is_read(home: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    run = appliance(home, "--file", f"{huge}:x", "--", "true")
    assert run.returncode == 4
    assert "64 MiB" in run.stderr.decode()


def test_infra_is_the_one_status_that_fails() -> None:
    assert to_json(result(JailStatus.infra, detail="no launcher"))["detail"] == "no launcher"
    assert describe(result(JailStatus.infra, exit_code=None)).startswith("status     infra\nexit_code  -\n")


def test_unknown_memory_and_hostile_detail_are_shown_safely() -> None:
    text = describe(result(peak_mib=None, detail="\x1b[2Jgone", stderr=b"\xff"))
    assert "peak_mib   unknown" in text
    assert "cpu_s      unknown" in describe(result(cpu_s=None))
    assert to_json(result(cpu_s=None))["cpu_s"] is None
    assert "\x1b" not in text
    assert "stderr:\n\\xff" in text
