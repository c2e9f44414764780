"""Kills the processes of a training run at random, and then counts: every attempt once, nothing left.

    python tests/daemon_trials.py --kills 100 [--seed 0]

The daemon, its engine, its learner and the jailer are killed with SIGKILL at random moments of a run of a tiny model.
Daemon and jailer are started again, as a service manager would; a run that fails for it is resumed, as an operator
would. There is an update between two kills, since a run that brings down its daemon three times without one is given
up on purpose.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from crash_trials import MARK, left_behind, sights
from test_daemon import becomes, child_of, counted_once, done, recipe, row, start, until

from appliance.learn.tiny import write_tiny_model

ROLES = ("daemon", "engine", "learner", "jailer")
SPREAD_S = 2.0
"""An update takes about half of it, so that a kill meets every stage."""


class Trial:
    """One home with a daemon and a jailer that are kept alive."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.pids: list[int] = []
        os.environ["APPLIANCE_JAILER"] = str(home / "jailer.sock")
        self._start_jailer()
        self._start_daemon()

    def run(self, updates: int) -> str:
        return str(
            done(self.home, "run", "start", recipe(self.home, self.home / "tiny.gguf", updates))["run"]
        )

    def kill(self, role: str) -> bool:
        """Kill a process, and start again what nobody else does; False when there was none."""
        pid = self._pid(role)
        if not pid:
            return False
        os.kill(pid, signal.SIGKILL)
        if role == "daemon":
            self.daemon.wait()
            self._start_daemon()
        elif role == "jailer":
            self.jailer.wait()
            self._start_jailer()
        return True

    def mend(self, run_id: str) -> int:
        """Resume the run if it has failed; how often that was (0 or 1)."""
        if row(self.home, run_id)["state"] != "failed":
            return 0
        done(self.home, "run", "resume", run_id)
        return 1

    def end(self) -> None:
        for child in (self.daemon, self.jailer):
            child.send_signal(signal.SIGTERM)
            child.wait(60)

    def _start_daemon(self) -> None:
        self.daemon = start(self.home)
        self.pids.append(self.daemon.pid)

    def _start_jailer(self) -> None:
        command = [
            sys.executable,
            "-m",
            "appliance",
            "jailer",
            "--socket",
            os.environ["APPLIANCE_JAILER"],
            "--warm",
        ]
        environment = {**os.environ, "APPLIANCE_HOME": str(self.home)}
        with (self.home / "jailer.log").open("a") as log:
            self.jailer = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.pids.append(self.jailer.pid)

    def _pid(self, role: str) -> int:
        if role in ("daemon", "jailer"):
            return self.daemon.pid if role == "daemon" else self.jailer.pid
        return child_of(self.daemon.pid, "appliance.engine" if role == "engine" else "appliance.learn")


def trial(home: Path, kills: int, seed: int) -> dict[str, Any]:
    """Run it; raises AssertionError with what was found."""
    draw, killed = random.Random(seed), Counter[str]()
    write_tiny_model(home / "tiny.gguf", seed=0, digit_bias=6.0)
    before = sights()
    running = Trial(home)
    updates, resumed = kills + 2, 0
    run_id = running.run(updates)
    for _ in range(kills):
        at = row(home, run_id)["updates"]
        while row(home, run_id)["updates"] == at and row(home, run_id)["state"] != "finished":
            resumed += running.mend(run_id)
            time.sleep(0.1)
        time.sleep(draw.uniform(0, SPREAD_S))
        role = draw.choice(ROLES)
        killed[role] += running.kill(role)
    until(lambda: bool(running.mend(run_id)) or row(home, run_id)["state"] != "failed", 60)
    becomes(home, run_id, "finished")
    counted_once(home, run_id, updates)
    running.end()
    return {
        "kills": dict(killed),
        "updates": updates,
        "resumed": resumed,
        "left": left_behind(before, running.pids),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=MARK) as folder:
        found = trial(Path(folder), wanted.kills, wanted.seed)
    print(json.dumps(found, indent=2))
    return 1 if found["left"] else 0


if __name__ == "__main__":
    sys.exit(main())
