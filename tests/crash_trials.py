"""Kills processes of a working queue at random, and then counts: nothing lost, nothing twice, nothing left.

    python tests/crash_trials.py --kills 1000 [--seed 0]

Four kinds of processes are killed with SIGKILL at random moments and started again, as a service manager would:
workers that judge in a jailer's jails, workers that judge in jails of their own, the jailer, and the one that submits.
Each job is one real jail. Afterwards all jobs are let finish, all is stopped in order, and the machine is looked over.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.queue.client import Queue
from appliance.queue.keeper import Pace
from appliance.queue.records import OPEN_STATES
from appliance.sandbox.attacks import invariants

ROOT = Path(__file__).resolve().parents[1]
MARK = "appliance-trial-"
OTHERS = (MARK, "appliance-vm-")
"""Folders that are not made by a jail."""
AHEAD = 40
"""Jobs that the submitter keeps open."""
PATIENCE_S = 120.0
PACE = Pace(beat_s=0.5, lease_s=5.0, backoff_s=0.02, backoff_cap_s=0.5)

WORKER = """
import sys, time
from pathlib import Path
from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.queue.client import Queue
from appliance.queue.workers import Workers
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.remote import RemoteJails
sys.path.insert(0, "tests")
import crash_trials

home, remote = Path(sys.argv[1]), sys.argv[2] == "remote"
policy = Policy(Limits(wall_s=20, cpu_s=10))

def judge(context):
    n = context.payload["n"]
    result = jails.run(["python3", "-c", f"print({n} * 7)"], policy)
    if result.status != "ok":
        raise SandboxError(f"{result.status}: {result.detail}")
    return {"n": n, "answer": int(result.stdout)}

with (RemoteJails(home / "jailer.sock") if remote else Jails(Paths(home, home), warm=True)) as jails:
    with Queue(home / "queue.db") as queue, Workers(queue, {"judge": judge}, {"jails": 4}, pace=crash_trials.PACE):
        sys.stdin.read()
"""

SUBMITTER = """
import sys, time
from pathlib import Path
from appliance.queue.client import Queue
sys.path.insert(0, "tests")
import crash_trials

home = Path(sys.argv[1])
with Queue(home / "queue.db") as queue:
    n = 0
    while not (home / "enough").exists():
        if sum(queue.depth().values()) < crash_trials.AHEAD:
            # From the start again after a kill: a key names one job.
            for n in range(n, n + 10):
                queue.submit("judge", {"n": n}, key=f"n{n}", group="trial", max_attempts=10_000)
            (home / "submitted").write_text(str(n))
            n += 1
        else:
            time.sleep(0.01)
"""


@dataclass
class Role:
    """One process that is there all the time, under different ids."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    pids: list[int] = field(default_factory=list)

    def start(self, log: Path) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            )
        self.pids.append(self.process.pid)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.end()

    def end(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def roles(home: Path) -> list[Role]:
    python = sys.executable
    jailer = [
        python,
        "-m",
        "appliance",
        "jailer",
        "--socket",
        str(home / "jailer.sock"),
        "--warm",
        "--grace",
        "1",
    ]
    return [
        Role("jailer", jailer),
        Role("worker of the jailer", [python, "-c", WORKER, str(home), "remote"]),
        Role("worker of its own", [python, "-c", WORKER, str(home), "own"]),
        Role("submitter", [python, "-c", SUBMITTER, str(home)]),
    ]


def trial(home: Path, kills: int, seed: int) -> dict[str, Any]:
    """Run it; raises AssertionError with what was found."""
    draw, cast, killed = random.Random(seed), roles(home), Counter[str]()
    before = sights()
    for role in cast:
        role.start(home / "log")
    for _ in range(kills):
        time.sleep(draw.uniform(0.02, 0.6))
        victim = draw.choice(cast)
        victim.kill()
        victim.start(home / "log")
        killed[victim.name] += 1
    (home / "enough").touch()
    found = {"kills": dict(killed), **counted(home)}
    jailer, *others = cast
    for role in others:
        role.end()
    assert jailer.process is not None
    jailer.process.terminate()
    jailer.end()
    found["left"] = left_behind(before, [pid for role in cast for pid in role.pids])
    return found


def counted(home: Path) -> dict[str, Any]:
    """Wait until no job is open; what became of them."""
    give_up = time.monotonic() + PATIENCE_S
    with Queue(home / "queue.db") as queue:
        while queue.depth() and time.monotonic() < give_up:
            time.sleep(0.05)
        jobs = queue.jobs(limit=10**6)
        keys = Counter(job.key for job in jobs)
        last = int((home / "submitted").read_text())
        done = {job.id: [row["outcome"] for row in queue.history(job.id)].count("done") for job in jobs}
        endings = Counter(row["outcome"] for job in jobs for row in queue.history(job.id))
    return {
        "jobs": len(jobs),
        "attempts": dict(endings),
        "open": sum(job.state in OPEN_STATES for job in jobs),
        "lost": sorted({f"n{n}" for n in range(last + 1)} - keys.keys())
        + [job.id for job in jobs if job.state != "done"],
        "twice": [key for key, count in keys.items() if count > 1]
        + [id_ for id_, n in done.items() if n != 1],
        "wrong": [
            job.id for job in jobs if job.result != {"n": job.payload["n"], "answer": 7 * job.payload["n"]}
        ],
    }


def sights() -> dict[str, frozenset[str]]:
    """What a jail could leave on this machine."""
    here = Path(tempfile.gettempdir()).glob("appliance*")
    return {
        "mounts": frozenset(Path("/proc/self/mounts").read_text().splitlines()),
        "processes": invariants.processes(),
        "temporary": frozenset(str(path) for path in here if not path.name.startswith(OTHERS)),
    }


def left_behind(before: dict[str, frozenset[str]], pids: list[int]) -> dict[str, list[str]]:
    """What there is more than before, once the kernel has had time to put things away."""
    give_up = time.monotonic() + PATIENCE_S / 4
    while True:
        now = sights()
        found = {name: sorted(now[name] - before[name]) for name in before}
        found["cgroups"] = [leaf for pid in pids for leaf in invariants.leaves_of(pid)]
        if not any(found.values()) or time.monotonic() > give_up:
            return {name: rows for name, rows in found.items() if rows}
        time.sleep(0.2)


def complaints(found: dict[str, Any]) -> list[str]:
    """What must not be; empty when all is well."""
    return [name for name in ("open", "lost", "twice", "wrong", "left") if found[name]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=MARK) as folder:
        found = trial(Path(folder), wanted.kills, wanted.seed)
    print(json.dumps(found, indent=2))
    return 1 if complaints(found) else 0


if __name__ == "__main__":
    sys.exit(main())
