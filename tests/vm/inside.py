"""Runs in the virtual machine of `run.py`: as root without arguments every case, with `probe` the probes of one.

Each case is a process of its own in the place where it belongs; what it prints last is its JSON line, which goes to
the second serial port. Standard library and the checkout's sandbox; Debian's own Python.
"""

from __future__ import annotations

import json
import os
import pwd
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance.errors import ApplianceError, SandboxError
from appliance.paths import from_environment
from appliance.sandbox.attacks import catalogue
from appliance.sandbox.attacks.examination import Examination
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits

HERE = Path("/opt/appliance")
RESULTS = Path("/dev/ttyS1")
PYTHON_PATH = f"{HERE}:{HERE}/site"
PROBE = ["/usr/bin/python3", str(HERE / "tests/vm/inside.py"), "probe"]
UNIT = "appliance-train@probe.service"
UNIT_LINES = """[Service]
ExecStart=
ExecStart={command}
Type=oneshot
TimeoutStartSec=infinity
StandardOutput=journal+console
{environment}
"""
SWAP_MIB = 256
RELOADED = ["A1", "A6"]
"""The fork bomb and the memory bomb."""


def main() -> None:
    if sys.argv[1:2] == ["probe"]:
        examine(sys.argv[2], Path(sys.argv[3]))
        return
    told = json.loads((HERE / "told.json").read_text())
    subprocess.run(["stty", "-F", str(RESULTS), "raw"], check=False)
    if told["service"]:
        sys.path.insert(0, str(HERE / "tests/vm"))
        from service import scenario

        scenario(told["user"])
        return
    switch_swap_on()
    start_user_manager(told["user"])
    Path("/var/tmp/results").mkdir(mode=0o1777)
    Path("/var/tmp/results").chmod(0o1777)
    for case in told["cases"]:
        started = time.monotonic()
        print(f"case {case}", flush=True)
        line = run_case(case, told)
        print(f"case {case} took {time.monotonic() - started:.0f} s", flush=True)
        with RESULTS.open("w") as port:
            port.write(line.strip() + "\n")
        subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["sync"], check=True)


def switch_swap_on() -> None:
    """A host that swaps is the harder one to keep limits on."""
    with Path("/swap").open("wb") as file:
        file.write(bytes(SWAP_MIB << 20))
    Path("/swap").chmod(0o600)
    for command in (["mkswap", "/swap"], ["swapon", "/swap"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert "/swap" in Path("/proc/swaps").read_text()


def start_user_manager(user: str) -> None:
    subprocess.run(["loginctl", "enable-linger", user], check=True)
    bus = Path(f"/run/user/{pwd.getpwnam(user).pw_uid}/bus")
    for _ in range(600):
        if bus.exists():
            return
        time.sleep(0.2)
    raise SystemExit("the user's service manager did not start")


def run_case(case: str, told: dict[str, Any]) -> str:
    """One case in its place; its line, with what it had when it did not come to its end."""
    out = Path(f"/var/tmp/results/{case}")
    try:
        command = place(case, told["user"], [*PROBE, case, str(out)])
        code = str(subprocess.run(command, timeout=told["case_s"]).returncode)
    except subprocess.TimeoutExpired:
        code = f"none within {told['case_s']} s"
        subprocess.run(["systemctl", "stop", UNIT], check=False)
    known = json.loads(out.read_text()) if out.exists() else nothing(case)
    if not known.pop("done", False):
        known["error"] = known["error"] or f"not done; exit code {code}; see the console"
    return json.dumps(known)


def place(case: str, user: str, command: list[str]) -> list[str]:
    """The command line that runs `command` where the case belongs."""
    account = pwd.getpwnam(user)
    settings = [f"PYTHONPATH={PYTHON_PATH}", f"HOME={account.pw_dir}", "PYTHONDONTWRITEBYTECODE=1"]
    as_user = ["runuser", "-u", user, "--", "env", *settings]
    if case in ("root", "root_reloaded"):
        return ["env", f"PYTHONPATH={PYTHON_PATH}", "HOME=/root", "PYTHONDONTWRITEBYTECODE=1", *command]
    if case == "unit":
        return ["systemctl", "start", shipped_unit(command)]
    if case == "user":
        return [*as_user, *command]
    if case == "user_service":
        options = [
            f"--property=User={user}",
            "--property=Delegate=yes",
            *(f"--setenv={text}" for text in settings),
        ]
        return ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", *options, *command]
    if case == "user_scope":
        bus = f"XDG_RUNTIME_DIR=/run/user/{account.pw_uid}"
        scope = ["systemd-run", "--user", "--scope", "--quiet", "--property=Delegate=yes"]
        return [*as_user, bus, *scope, *command]
    raise ValueError(case)


def shipped_unit(command: list[str]) -> str:
    """The unit as it ships, but for what it runs."""
    units = Path("/etc/systemd/system")
    (units / "appliance-train@.service").write_text((HERE / "systemd/appliance-train@.service").read_text())
    settings = (f"PYTHONPATH={PYTHON_PATH}", "PYTHONDONTWRITEBYTECODE=1", "HOME=/root")
    environment = "\n".join(f"Environment={text}" for text in settings)
    dropped = units / f"{UNIT}.d"
    dropped.mkdir(exist_ok=True)
    text = UNIT_LINES.format(command=shlex.join(command), environment=environment)
    (dropped / "probe.conf").write_text(text)
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    return UNIT


def nothing(case: str) -> dict[str, Any]:
    """A case of which nothing is known yet."""
    facts = {"version": 0, "why": "", "parents": [], "swap_limited": False, "cpus": "", "cpuset": ""}
    return {"case": case, **facts, "limits": "", "probes": [], "invariants": [], "error": ""}


def examine(case: str, out: Path) -> None:
    """In its place: what cgroups there are, then how every probe ends. `out` always holds what is known."""
    told = json.loads((HERE / "told.json").read_text())
    # After a reload only the limits are in question.
    chosen = RELOADED if case == "root_reloaded" else told["probes"]
    found = nothing(case) | cgroups()
    try:
        for part in probes(chosen, told["fast"]):
            found |= part
            out.write_text(json.dumps(found))
        found["done"] = True
    except (OSError, ApplianceError) as error:
        found["error"] = f"{type(error).__name__}: {error}"
    out.write_text(json.dumps(found))


def cgroups() -> dict[str, Any]:
    """What the nursery says, and which of the limits that are only set when asked for it can set."""
    found, why = nursery()
    if found is None:
        return {"why": why, "cpus": why, "cpuset": why}
    refusals = {}
    for name, limits in (("cpus", Limits(cpus=0.5)), ("cpuset", Limits(cpuset="0"))):
        try:
            leaf = found.leaf(limits)
            leaf.remove()
            refusals[name] = ""
        except SandboxError as error:
            refusals[name] = error.message
    parents = [str(path) for path in found.parents.values()]
    return {"version": found.version, "parents": parents, "swap_limited": found.swap_limited, **refusals}


def probes(chosen: list[str], fast: bool) -> Iterator[dict[str, Any]]:
    """What `appliance jail probe` does: its report as far as it has come, and a line on the console for each probe."""
    paths, findings = from_environment(os.environ), []
    with Jails(paths) as jails:
        examination = Examination(jails, paths, jails.rest)
        for found in examination.run(catalogue.chosen(chosen, fast=fast)):
            print(f"{found.verdict} {found.name} {found.took_s:.1f} s {found.reason}"[:150], flush=True)
            findings.append(asdict(found))
            yield {"limits": examination.limits, "probes": findings}
    yield {"invariants": examination.invariants}


if __name__ == "__main__":
    main()
