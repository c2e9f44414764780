"""The service for real, in the virtual machine of `run.py --service`: systemd, cgroup version 2, the shipped units.

Runs inside. Each step is told as one JSON line on the second serial port as soon as it is done; a step that fails
does not keep the others from being tried. The processor is emulated, so times are patient and no timing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path("/opt/appliance")
RESULTS = Path("/dev/ttyS1")
PYTHON = HERE / ".venv/bin/python"
PROGRAM = [str(PYTHON), "-P", "-m", "appliance"]
STATE = Path("/var/lib/appliance")
RECIPE = Path("/etc/appliance/tiny.toml")
JAILS = Path("/sys/fs/cgroup/system.slice/appliance-jailer.service")
PATIENT = """[Service]
TimeoutStartSec=900
TimeoutStopSec=600
WatchdogSec=600
"""
"""What an emulated processor needs; all else is as it ships."""
RECIPE_TEXT = """name = "tiny"
seed = 1
[model]
gguf = "/srv/tiny.gguf"
[tasks]
packs = ["/opt/appliance/tests/data/pack_tiny"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 2
[grpo]
updates = {updates}
tasks_per_update = 2
attempts_per_task = 8
learning_rate = 0.005
rank = 4
alpha = 8.0
[engine]
slots = 8
"""
LOOK_S = 5.0
PATIENCE_S = 1200.0
NAMES = ("engine", "learner", "jailer", "brain")


class Failed(Exception):
    """A step did not go as it must."""


def scenario(user: str) -> None:
    operator = Operator(user)
    steps: list[tuple[str, Callable[[], str]]] = [
        ("install", install),
        ("prepare", lambda: prepare(user)),
        ("start", start),
        ("train", operator.train),
        ("no port is open", no_port),
        *((f"SIGKILL {name}", lambda name=name: operator.survives(name)) for name in NAMES),
        ("stop drains", operator.drains),
        ("start again", operator.goes_on),
        ("stop", operator.ends),
    ]
    for name, step in steps:
        began = time.monotonic()
        try:
            detail, ok = step(), True
        except (Failed, OSError, subprocess.SubprocessError, ValueError, LookupError) as error:
            detail, ok = f"{type(error).__name__}: {error}", False
        line = {"step": name, "ok": ok, "detail": detail, "seconds": round(time.monotonic() - began)}
        print(json.dumps(line), flush=True)
        with RESULTS.open("w") as port:
            port.write(json.dumps(line) + "\n")
        if not ok:
            for unit in ("appliance", "appliance-jailer"):
                subprocess.run(["journalctl", "--no-pager", "-n", "40", "-o", "cat", "-u", unit], check=False)
            for log in STATE.glob("runs/*/*.log"):
                print(
                    f"--- {log.name}",
                    *log.read_text(errors="replace").splitlines()[-25:],
                    sep="\n",
                    flush=True,
                )
            if name in ("install", "prepare", "start", "train"):
                return


def install() -> str:
    done = run(*PROGRAM, "install-units", "--json")
    for command in json.loads(done)["next"][:2]:
        run(*command.split())
    drop = Path("/etc/systemd/system/appliance.service.d")
    drop.mkdir(exist_ok=True)
    (drop / "patient.conf").write_text(PATIENT)
    other = drop.with_name("appliance-jailer.service.d")
    other.mkdir(exist_ok=True)
    (other / "patient.conf").write_text(PATIENT.replace("WatchdogSec=600\n", ""))
    run("systemctl", "daemon-reload")
    files = json.loads(done)["files"]
    return f"{len(files)} files"


def prepare(user: str) -> str:
    """A model, a recipe, and a user who may give orders."""
    shutil.copy(HERE / "libomp.so.5", "/usr/lib/x86_64-linux-gnu/libomp.so.5")
    run("ldconfig")
    code = "from pathlib import Path; from appliance.learn.tiny import write_tiny_model"
    run(str(PYTHON), "-P", "-c", f"{code}; write_tiny_model(Path('/srv/tiny.gguf'), digit_bias=6.0)")
    Path("/srv/tiny.gguf").chmod(0o644)
    RECIPE.parent.mkdir(exist_ok=True)
    for updates in (2, 400):
        RECIPE.with_stem(f"tiny{updates}").write_text(RECIPE_TEXT.format(updates=updates))
    run("usermod", "--append", "--groups", "appliance", user)
    return f"{user} is in the group appliance"


def start() -> str:
    run("systemctl", "start", "appliance")
    brain, jailer = shown("appliance"), shown("appliance-jailer")
    require(brain["ActiveState"] == "active" == jailer["ActiveState"], f"{brain} {jailer}")
    owners = [Path(f"/proc/{unit['MainPID']}").stat().st_uid for unit in (brain, jailer)]
    require(0 not in owners, "a service is root")
    held = status_of(int(jailer["MainPID"]))["CapEff"]
    require(status_of(int(brain["MainPID"]))["CapEff"] == "0000000000000000", "the brain has capabilities")
    return f"active, brain without capabilities, jailer with {held}, status {brain['StatusText']!r}"


class Operator:
    """An ordinary user who may give orders."""

    def __init__(self, user: str) -> None:
        self._user = user
        self._run = ""

    def train(self) -> str:
        run_id, seen = self._start(2), [""]

        def ended() -> dict[str, Any] | None:
            seen[0] = seen[0] or jail_limits(LOOK_S)
            return self._ended(run_id)

        row = self._until(ended)
        require(row["state"] == "finished", f"the run ended as {row['state']}: {row}")
        require(bool(seen[0]), "no jail with limits was seen")
        return f"{run_id} finished; a jail had {seen[0]}"

    def survives(self, name: str) -> str:
        """End a process of a run with SIGKILL; the run makes another update all the same."""
        if not self._run or self._state()["state"] not in ("running", "queued"):
            self._run = self._start(400)
        self._until(lambda: self._updates() > 0)
        pid = pid_of(name)
        before = self._updates()
        os.kill(pid, signal.SIGKILL)
        self._until(lambda: pid_of(name, 0) not in (0, pid) or self._state()["state"] == "failed")
        how = "by itself"
        if self._state()["state"] == "failed":
            how = "after run resume"
            self._do("run", "resume", self._run)
        self._until(lambda: self._updates() > before)
        left = [path for path in JAILS.glob("appliance-jail-*") if not orphanless(path)]
        require(not left, f"left: {left}")
        return f"went on {how} with pid {pid_of(name)}, update {before} to {self._updates()}"

    def drains(self) -> str:
        before = self._until(self._updates)
        run("systemctl", "stop", "appliance")
        found = shown("appliance")
        require((found["ActiveState"], found["Result"]) == ("inactive", "success"), str(found))
        self._until(lambda: shown("appliance-jailer")["ActiveState"] == "inactive")
        left = [name for name in NAMES if pid_of(name, 0)]
        require(not left, f"still there: {left}")
        row = self._state()
        require(row["state"] == "queued", f"the run is {row['state']}")
        return f"stopped after update {max(before, self._updates())}, the run is queued, no process is left"

    def goes_on(self) -> str:
        before = self._updates()
        run("systemctl", "start", "appliance")
        self._until(lambda: self._updates() > before)
        return f"the run went on from update {before}"

    def ends(self) -> str:
        self._do("run", "stop", self._run)
        self._until(lambda: self._state()["state"] == "stopped")
        run("systemctl", "stop", "appliance")
        return f"{self._run} stopped at update {self._updates()}"

    def _do(self, *arguments: str) -> str:
        # These two say where the service's folders are; an operator's own are elsewhere.
        place = ["env", f"STATE_DIRECTORY={STATE}", "RUNTIME_DIRECTORY=/run/appliance"]
        return run("runuser", "-u", self._user, "--", *place, *PROGRAM, *arguments)

    def _start(self, updates: int) -> str:
        told = json.loads(self._do("run", "start", str(RECIPE.with_stem(f"tiny{updates}")), "--json"))
        return str(told.get("run") or told.get("run_id") or told["id"])

    def _state(self) -> dict[str, Any]:
        return self._row(self._run)

    def _row(self, run_id: str) -> dict[str, Any]:
        told = json.loads(self._do("run", "list", "--json"))
        rows = told["runs"] if isinstance(told, dict) else told
        return next(row for row in rows if row["id"] == run_id)

    def _ended(self, run_id: str) -> dict[str, Any] | None:
        row = self._row(run_id)
        return row if row["state"] not in ("running", "queued") else None

    def _updates(self) -> int:
        path = STATE / "runs" / self._run / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return max((json.loads(line)["step"] for line in lines if '"update"' in line), default=0)

    def _until(self, came: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if found := came():
                return found
            time.sleep(1)
        raise Failed(f"not within {patience_s:.0f} s")


def jail_limits(seconds: float) -> str:
    """The limits of a jail that runs within that time, as the kernel has them; jails are gone in a moment."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for leaf in JAILS.glob("appliance-jail-*"):
            try:
                names = ("memory.max", "memory.swap.max", "pids.max")
                values = {name: (leaf / name).read_text().strip() for name in names}
            except OSError:
                continue
            # A zygote's own is larger.
            if "max" not in values.values() and int(values["pids.max"]) < 1000:
                return " ".join(f"{name} {value}" for name, value in values.items())
    return ""


def no_port() -> str:
    """Nobody listens, in the host's network or in the services'."""
    places = ["self", *(str(pid) for name in NAMES if (pid := pid_of(name, 0)))]
    heard = [f"{place} {row}" for place in places for row in listening(place)]
    require(not heard, f"listening: {heard}")
    host = Path("/proc/self/ns/net").stat().st_ino
    brain = Path(f"/proc/{pid_of('brain')}/ns/net").stat().st_ino
    require(host != brain, "the brain shares the host's network")
    return f"tcp, tcp6, udp and udp6 of {len(places)} processes, and the brain has a network of its own"


def listening(place: str) -> Iterator[str]:
    """Sockets that wait for others: TCP in state 0A, UDP that are bound."""
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/{place}/net/{kind}").read_text().splitlines()[1:]:
            if kind.startswith("udp") or row.split()[3] == "0A":
                yield f"{kind} {row.split()[1]}"


def pid_of(name: str, missing: int | None = None) -> int:
    """The process of that name; `missing` when there is none, else LookupError."""
    if name in ("brain", "jailer"):
        found = int(shown("appliance" if name == "brain" else "appliance-jailer")["MainPID"])
    else:
        word = f"appliance.{'engine' if name == 'engine' else 'learn'}".encode()
        found = next((pid for pid, words in commands() if word in words), 0)
    if not found and missing is None:
        raise LookupError(f"no {name}")
    return found or missing or 0


def commands() -> Iterator[tuple[int, list[bytes]]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield int(path.parent.name), path.read_bytes().split(b"\0")
        except OSError:
            continue


def orphanless(leaf: Path) -> bool:
    """Whether the maker of a leaf, whose pid is in its name, is there."""
    return Path(f"/proc/{leaf.name.split('-')[2]}").exists() or not leaf.exists()


def shown(unit: str) -> dict[str, str]:
    wanted = "ActiveState,Result,MainPID,StatusText,NRestarts"
    text = run("systemctl", "show", unit, f"--property={wanted}")
    return dict(line.split("=", 1) for line in text.splitlines())


def status_of(pid: int) -> dict[str, str]:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (row.partition(":") for row in rows)}


def require(holds: bool, why: str) -> None:
    if not holds:
        raise Failed(why)


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        raise Failed(f"{command[-3:]}: exit code {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout
