"""The sampled audit: which attempts it takes, what it sees of a real submission, and that it changes no reward."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from appliance import audits
from appliance.audits import Lot
from appliance.judge import Judge
from appliance.nouns import Attempt, Sampling, Task
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Policy
from appliance.sandbox.witness import Witness
from appliance.store import Store
from appliance.tasks import find_task
from appliance.yard import Yard

DATA = Path(__file__).parent / "data"
ADD = b"def add_two(a, b):\n    return a + b\n"
NOSY = b"""
import ctypes, socket
def add_two(a, b):
    try: socket.create_connection(("127.0.0.1", 9))
    except OSError: pass
    open("/tmp/\x1b[31m\xe2\x80\xaeleft", "w").close()
    ctypes.CDLL(None).mount(b"none", b"/work", b"tmpfs", 0, None)
    return a + b
"""
SLOW_UNDER_TRACE = b"""
import os
for _ in range(100_000): os.stat("/")
def add_two(a, b):
    return a + b
"""
"""A trace stops a program twice in each call: without one this is far below the limits, with one above them."""

needs_ptrace = pytest.mark.skipif(util.find_spec("ptrace") is None, reason="python-ptrace is not installed")


def attempt(index: int = 0, run: str = "r") -> Attempt:
    return Attempt(
        f"{run}/train/1/p/t/{index}", run, f"{run}/train/1/p/t", 1, "train", "p/t", "h", index, "complete",
        "base", "build", 7, Sampling(), (), "stop", {},
    )  # fmt: skip


def test_the_lot_falls_alike_in_every_run_of_a_seed_and_takes_about_its_share() -> None:
    taken = [Lot(0.05, 3).takes(attempt(index)) for index in range(4000)]
    assert taken == [Lot(0.05, 3).takes(attempt(index, run="other")) for index in range(4000)]
    assert taken != [Lot(0.05, 4).takes(attempt(index)) for index in range(4000)]
    assert 150 < sum(taken) < 250
    assert not any(Lot(0.0, 3).takes(attempt(index)) for index in range(100))
    assert all(Lot(1.0, 3).takes(attempt(index)) for index in range(100))
    rest = (Lot(0.04, 3).takes(attempt(index)) <= one for index, one in enumerate(taken))
    assert all(rest), "a larger share holds the smaller one"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.fixture
def add_two() -> Task:
    return find_task("judging/add_two", [DATA / "pack_judging"])


@needs_ptrace
@pytest.mark.jail
def test_an_audit_sees_what_a_submission_does_and_changes_no_reward(judge: Judge, add_two: Task) -> None:
    artefacts = {"solution.py": NOSY}
    verdict = judge.judge(add_two, artefacts, seed=1)
    audited = judge.audit(add_two, artefacts, verdict, Witness, seed=1)
    assert (verdict.reward, verdict.audit) == (1.0, None)
    assert replace(audited, audit=None, signals=verdict.signals) == verdict
    assert audited.audit is not None
    # 12 cases, each asked once.
    assert audited.audit["found"] == {
        "connected": 12, "denied": 12, "changed": 12, "untraced": 0, "incomplete": 0,
    }  # fmt: skip
    assert audited.audit["status"] == "pass"
    signal = audited.signals["audit_findings"]
    assert (signal.raw, signal.value, signal.weight, signal.role) == (36.0, 0.0, 0.0, "monitor")
    (path,) = (item["path"] for item in audited.audit["changed"])
    assert path.isprintable() and path.endswith("left")
    told = list(audits.describe(audited.audit))
    assert "connected connect inet 127.0.0.1:9 ECONNREFUSED x12" in told
    assert "denied mount EPERM x12" in told
    assert all(line.isprintable() for line in told)


@needs_ptrace
@pytest.mark.jail
def test_an_honest_submission_has_no_findings(judge: Judge, add_two: Task) -> None:
    verdict = judge.judge(add_two, {"solution.py": ADD})
    audited = judge.audit(add_two, {"solution.py": ADD}, verdict, Witness)
    assert audited.audit is not None and audited.audit["opened"]
    assert set(audited.audit["found"].values()) == {0}
    assert (audited.signals["audit_findings"].raw, audited.signals["audit_findings"].value) == (0.0, 1.0)


@needs_ptrace
@pytest.mark.jail
def test_what_only_a_trace_makes_too_slow_keeps_its_reward(judge: Judge, add_two: Task) -> None:
    artefacts = {"solution.py": SLOW_UNDER_TRACE}
    verdict = judge.judge(add_two, artefacts)
    audited = judge.audit(add_two, artefacts, verdict, Witness)
    assert audited.audit is not None
    assert audited.audit["status"] == "candidate_timeout"
    assert (audited.status, audited.reward) == ("pass", 1.0)


@needs_ptrace
@pytest.mark.jail
def test_a_submission_that_needs_no_jail_is_not_audited(judge: Judge, add_two: Task) -> None:
    broken = {"solution.py": b"def add_two(:"}
    verdict = judge.judge(add_two, broken)
    assert judge.audit(add_two, broken, verdict, Witness) == verdict


@needs_ptrace
@pytest.mark.jail
def test_no_report_lacks_its_end(tmp_path: Path) -> None:
    """The launcher kills what a jail left, and the tracer looks like that as soon as its nsjail is reaped."""
    with Jails(Paths(data=tmp_path / "data", cache=tmp_path / "cache")) as jails:
        reports = [jails.audit(["true"], Policy())[1] for _ in range(30)]
    assert all(report.complete and report.ended for report in reports)


def test_a_record_is_bounded_and_says_what_it_left_out() -> None:
    item = {"count": 2, "path": "/x", "result": "ok"}
    seen: dict[str, Any] = {name: [item] * 300 for name in audits.LISTS}
    stored = audits.record(seen | {"untraced": 1, "dropped": 5, "complete": True, "trouble": ""}, "fail")
    assert all(len(stored[name]) == audits.KEPT for name in audits.LISTS)
    assert stored["left_out"] == 600
    assert stored["found"]["connected"] == 600
    told = list(audits.describe(stored))
    assert "connected 180 more (--json names them)" in told
    assert "missing 605 records" in told
    assert list(audits.describe(audits.failed("no \x1b[2Jpipe")))[-1] == "trouble no pipe"


RECIPE = """
name = "audited"
[model]
gguf = "{model}"
[tasks]
packs = ["{pack}"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 2
[grpo]
updates = 1
tasks_per_update = 2
attempts_per_task = 4
rank = 4
[engine]
slots = 8
[judge]
audit_share = {share}
"""


def appliance(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "APPLIANCE_HOME": str(home), **variables}
    command = [sys.executable, "-m", "appliance", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)


def recipe(folder: Path, model: Path, share: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(model=model, pack=DATA / "pack_tiny", share=share))
    return path


@needs_ptrace
@pytest.mark.jail
def test_a_run_audits_its_share_and_its_report_counts_it(tmp_path: Path, tiny_model: Path) -> None:
    done = appliance(tmp_path, "train", str(recipe(tmp_path, tiny_model, "0.5")), "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    with Store(tmp_path / "data/store.db", tmp_path / "data/objects") as store:
        total, rows = store.attempts(printed["run"], limit=1000)
        verdicts = {row["id"]: store.verdict(row["id"]) for row in rows}
        lot = Lot(0.5, 0)
        wanted = {key for key in verdicts if lot.takes(store.attempt(key))}
    audited = {key for key, verdict in verdicts.items() if verdict and verdict.audit}
    # What does not parse needs no jail.
    assert audited <= wanted
    assert 0 < len(audited) < total
    assert printed["audited"]["attempts"] == len(audited)
    assert (printed["audited"]["with_findings"], printed["audited"]["incomplete"]) == (0, 0)
    shown = appliance(tmp_path, "run", "show", printed["run"]).stdout
    assert f"Audited {len(audited)} attempts, 0 with findings: 0 connects, 0 denied calls" in shown
    one = appliance(tmp_path, "attempt", "show", sorted(audited)[0]).stdout
    assert "audit    connected 0, denied 0, changed 0" in one
    assert "signal   audit_findings: 0" in one


@pytest.mark.jail
@pytest.mark.parametrize("share", ["1.5", "-0.1", '"some"'])
def test_a_share_out_of_bounds_names_file_field_and_remedy(
    tmp_path: Path, tiny_model: Path, share: str
) -> None:
    path = recipe(tmp_path, tiny_model, share)
    done = appliance(tmp_path, "train", str(path))
    assert done.returncode == 2
    assert f"{path}: 'judge.audit_share' is" in done.stderr
    assert "remedy:" in done.stderr


@pytest.mark.jail
def test_a_run_that_cannot_audit_does_not_start(tmp_path: Path, tiny_model: Path) -> None:
    """As on a machine without python-ptrace: a finder that knows no such module stands before all others."""
    (tmp_path / "site").mkdir()
    hide = "import sys\nfrom importlib import util\nfind = util.find_spec\n"
    hide += "util.find_spec = lambda name, *rest: None if name == 'ptrace' else find(name, *rest)\n"
    (tmp_path / "site/sitecustomize.py").write_text(hide)
    path = recipe(tmp_path, tiny_model, "0.5")
    before = os.environ.get("PYTHONPATH")
    search = f"{tmp_path / 'site'}:{before}" if before else str(tmp_path / "site")
    done = appliance(tmp_path, "train", str(path), PYTHONPATH=search)
    assert done.returncode == 2, done.stderr
    assert f"{path}: 'judge.audit_share' is 0.5, but an audit needs python-ptrace" in done.stderr
    assert "pip install 'post-training-appliance[audit]'" in done.stderr
    assert json.loads(appliance(tmp_path, "run", "list", "--json").stdout)["runs"] == []
