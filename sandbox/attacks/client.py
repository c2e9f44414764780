"""A client of jails that can be killed: the other process of the scenes in which a supervisor dies.

Run as `python3 -m appliance.sandbox.attacks.client DATA CACHE ACT [SEED]`; prints a JSON list of what was allowed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.sandbox.attacks.invariants import leaves_of
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.policy import Limits, Policy

PATIENCE_S = 20.0
LAUNCHES = 12
LATEST_KILL_S = 0.04
POLICY = Policy(Limits(wall_s=30))


def processes() -> dict[int, tuple[int, str]]:
    """Every process: parent and name."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_bytes().rpartition(b")")
        except OSError:
            continue
        found[int(folder.name)] = (int(tail.split()[1]), head.partition(b"(")[2].decode(errors="replace"))
    return found


def below(top: int, table: dict[int, tuple[int, str]]) -> list[int]:
    """The descendants of a process."""
    children = [pid for pid, (parent, _) in table.items() if parent == top]
    return children + [pid for child in children for pid in below(child, table)]


def sleepers(seconds: str) -> list[int]:
    """Processes `sleep SECONDS`, wherever they run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def came(what: Callable[[], object]) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.01)
    return False


def hold(paths: Paths, seconds: str) -> list[str]:
    """Keep a jail running until somebody kills us."""
    with Jails(paths) as jails:
        jails.run(("sleep", seconds), Policy(Limits(wall_s=90)))
    return ["nobody killed the client"]


def killed_client(paths: Paths, _: str) -> list[str]:
    seconds = f"61.{os.getpid()}"
    module = __spec__.name if __spec__ else ""
    command = [sys.executable, "-B", "-m", module, str(paths.data), str(paths.cache), "hold", seconds]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        if not came(lambda: sleepers(seconds)):
            return ["the jail did not start"]
        family = below(client.pid, processes())
    finally:
        client.kill()
        client.wait()
    found = [] if came(lambda: not sleepers(seconds)) else ["the jail outlived its client"]
    if not came(lambda: not leaves_of(client.pid)):
        found.append("the leaf outlived its client")
    if not came(lambda: not set(family) & processes().keys()):
        found.append("processes outlived their client")
    return found


def killed_launcher(paths: Paths, _: str) -> list[str]:
    found = []
    with Jails(paths) as jails:
        seconds = f"62.{os.getpid()}"
        talk = jails.open(("sleep", seconds), Policy(Limits(wall_s=90)))
        if not came(lambda: sleepers(seconds)):
            return ["the jail did not start"]
        for pid in [pid for pid, (parent, _) in processes().items() if parent == os.getpid()]:
            os.kill(pid, signal.SIGKILL)
        try:
            talk.receive(16, PATIENCE_S)
        except TimeoutError:
            found.append("the jail outlived its launcher")
        if (result := talk.finish()).status is not JailStatus.infra:
            found.append(f"ended with {result.status}")
        if sleepers(seconds) or leaves_of(os.getpid()):
            found.append("something of the jail outlived its end")
        for pid in sleepers(seconds):
            os.kill(pid, signal.SIGKILL)
        if jails.run(("true",), POLICY).status is not JailStatus.ok:
            found.append("no jail can be started any more")
    return found


def killed_nsjail(paths: Paths, seed: str) -> list[str]:
    moments, found = random.Random(int(seed)), []
    with Jails(paths) as jails:
        jails.run(("true",), POLICY)
        for number in range(LAUNCHES):
            seconds = f"63.{os.getpid()}{number}"
            killer = threading.Thread(target=_kill_nsjail, args=(moments.random() * LATEST_KILL_S,))
            killer.start()
            try:
                status = jails.run(("sleep", seconds), POLICY).status
            except SandboxError:
                status = JailStatus.infra
            killer.join()
            if status not in (JailStatus.infra, JailStatus.signal):
                found.append(f"ended with {status}")
            if sleepers(seconds) or leaves_of(os.getpid()):
                found.append("the jail outlived nsjail")
            for pid in sleepers(seconds):
                os.kill(pid, signal.SIGKILL)
        if jails.run(("true",), POLICY).status is not JailStatus.ok:
            found.append("no jail can be started any more")
    return found


def _kill_nsjail(after_s: float) -> None:
    """Kill what our launcher has started, `after_s` from the moment it is there."""

    def started() -> list[int]:
        table = processes()
        helpers = [pid for pid, (parent, _) in table.items() if parent == os.getpid()]
        return [pid for pid, (parent, _) in table.items() if parent in helpers]

    came(started)
    time.sleep(after_s)
    for pid in started():
        os.kill(pid, signal.SIGKILL)


ACTS = {
    "hold": hold,
    "killed_client": killed_client,
    "killed_launcher": killed_launcher,
    "killed_nsjail": killed_nsjail,
}


def main(arguments: list[str]) -> None:
    data, cache, act = arguments[:3]
    print(json.dumps(ACTS[act](Paths(Path(data), Path(cache)), [*arguments, ""][3])))


if __name__ == "__main__":
    main(sys.argv[1:])
