"""Attacks that take more than one program in one jail: two runs, conversations, many at once, killed supervisors.

Each returns what was allowed, in words; nothing when every door was shut.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from appliance.clean import clean_text
from appliance.errors import UsageError
from appliance.sandbox.attacks import client as probe_client
from appliance.sandbox.client import JailResult
from appliance.sandbox.ending import JailStatus
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.probes import Probe, Scene, Stage, program

PYTHON = ("python3", "-B", "/job/probe.py")
LONG_S = 60.0
CLIENT_PATIENCE_S = 60.0
AT_ONCE = 4
SAME = 40
ESCAPES = "\x1b]0;title\x07\x1b[31m\x9b2J\u202eevil\r\x08"

_LEAVE = """
import fcntl, random, time, threading
places = ["/work", "/tmp", "/dev/shm", "/var/tmp", "/var/lock", "/run/lock", "/run", "/run/user", "/dev", "/dev/mqueue", "/job",
          "/usr/local/bin", sys.base_prefix, *sys.path]
def attempt(what, *arguments):
    try:
        return what(*arguments)
    except (OSError, AttributeError):
        return None
if mode == "leave":
    for place in places:
        attempt(lambda: open(f"{place}/appliance-probe-trap", "w").write("x"))
    libc.shmget(0x0A11CE, 4096, 0o1666)
    libc.semget(0x0A11CE, 1, 0o1666)
    libc.msgget(0x0A11CE, 0o1666)
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    attempt(lambda: rt.mq_open(b"/appliance-probe", os.O_CREAT | os.O_RDWR, 0o666, None))
    libc.syscall(248, b"user", b"appliance-probe", b"x", 1, -4)
    attempt(lambda: setattr(sys, "appliance_probe", True))
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            trap = socket.socket(socket.AF_UNIX)
            trap.bind("\\0appliance-probe")
            trap.listen()
            time.sleep(60)
        os._exit(0)
    os.wait()
    sys.exit(0)
allowed.extend(f"{place}/appliance-probe-trap" for place in places if os.path.exists(f"{place}/appliance-probe-trap"))
for name, found in (("shm", libc.shmget(0x0A11CE, 0, 0)), ("sem", libc.semget(0x0A11CE, 0, 0)), ("msg", libc.msgget(0x0A11CE, 0))):
    if found != -1:
        allowed.append(f"System V {name}")
if ctypes.CDLL("librt.so.1", use_errno=True).mq_open(b"/appliance-probe", os.O_RDWR) != -1:
    allowed.append("POSIX queue")
if libc.syscall(249, b"user", b"appliance-probe", 0, 0) != -1:
    allowed.append("key")
if hasattr(sys, "appliance_probe"):
    allowed.append("a module of the interpreter")
shut("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\\0appliance-probe"), errno.ECONNREFUSED)
pids = [name for name in os.listdir("/proc") if name.isdigit()]
if len(pids) > 2:
    allowed.append(f"processes {pids}")
verdict()
"""  # noqa: E501
_STATE = """
import random, uuid, tempfile
print(random.random(), uuid.uuid4(), os.urandom(8).hex(), next(tempfile._get_candidate_names()))
"""
_SPEAKER = """
read, write = (int(part) for part in os.environ["APPLIANCE_CHANNEL"].split(","))
"""


def _run(stage: Stage, source: str, policy: Policy | None = None, stdin: bytes = b"") -> JailResult:
    files = {**Probe("", JailStatus.ok).files, "probe.py": program(source)}
    return stage.jails.run(PYTHON, policy or stage.policy, files=files, stdin=stdin)


def _unless(result: JailResult, status: JailStatus, code: int | None = None) -> list[str]:
    """What differs from the ending that was due."""
    if result.status is status and (code is None or result.exit_code == code):
        return []
    said = clean_text(result.detail + result.stderr[-200:].decode("utf-8", "backslashreplace"))
    return [f"ended with {result.status} {result.exit_code} {said}"]


def traps(stage: Stage) -> list[str]:
    """The first of two runs leaves something in every place that could outlive it."""
    left = _run(stage, f"mode = 'leave'\n{_LEAVE}")
    found = _run(stage, f"mode = 'look'\n{_LEAVE}")
    said = clean_text(found.stdout.decode(errors="replace")).split()
    return _unless(left, JailStatus.ok) + _unless(found, JailStatus.ok) + said


def poisoned_interpreter(stage: Stage) -> list[str]:
    """The first run changes the interpreter it was given; the second must have one of its own."""
    _run(
        stage,
        "import builtins, random\nbuiltins.trap = sys.trap = True\nrandom.random = lambda: 0.5\nos.umask(0)",
    )
    found = _run(stage, "import builtins, random\nprint(hasattr(builtins, 'trap'), hasattr(sys, 'trap'), "
                 "random.random() == 0.5, oct(os.umask(0)))")  # fmt: skip
    return [] if found.stdout == b"False False False 0o22\n" else [repr(found.stdout[:200])]


def equal_randomness(stage: Stage) -> list[str]:
    """Two jails whose generators started alike could tell each other's names and draws.

    The hash seed of an interpreter is no generator: jails of one zygote share it.
    """
    words = [_run(stage, _STATE).stdout.split() for _ in range(3)]
    if any(len(row) != 4 for row in words):
        return [f"said {words!r}"[:300]]
    return [
        f"value {index} twice"
        for index, column in enumerate(zip(*words, strict=True))
        if len(set(column)) < 3
    ]


def held_output(stage: Stage) -> list[str]:
    """A daemon keeps stdout open; the verdict must not wait for it."""
    result = _run(stage, "if os.fork() == 0:\n    os.setsid()\n    __import__('time').sleep(60)\nos._exit(0)")
    waited = (
        [f"the verdict came after {result.wall_s:.1f} s"]
        if result.wall_s > stage.policy.limits.wall_s / 2
        else []
    )
    return _unless(result, JailStatus.ok) + waited


def both_streams(stage: Stage) -> list[str]:
    """One stream is flooded below its cap while the other is idle, in turns."""
    source = "for fd in (2, 1, 2, 1):\n    for _ in range(30): os.write(fd, b'x' * 1000)"
    result = _run(stage, source)
    sizes = (len(result.stdout), len(result.stderr))
    return _unless(result, JailStatus.ok) + ([] if sizes == (60_000, 60_000) else [f"kept {sizes}"])


def unread_input(stage: Stage) -> list[str]:
    """Much is passed to a program that reads nothing, or one byte."""
    found = []
    for source in ("", "os.read(0, 1)", "os.close(0)"):
        found += _unless(_run(stage, source, stdin=bytes(8 << 20)), JailStatus.ok)
    return found


def odd_bytes(stage: Stage) -> list[str]:
    """Bytes that are no text come back as they were."""
    body = bytes(range(256)) * 16 + b"\xed\xa0\x80\xff\xfe\0" + ESCAPES.encode()
    result = stage.jails.run(("cat",), stage.policy, stdin=body)
    return _unless(result, JailStatus.ok) + ([] if result.stdout == body else ["bytes were changed"])


def escapes(stage: Stage) -> list[str]:
    """Terminal sequences in a program's name, arguments and last words stay out of what we say ourselves."""
    found = []
    for command in ((f"no-{ESCAPES}",), ("sh", "-c", f"printf '%s' '{ESCAPES}' >&2; exit 3")):
        result = stage.jails.run(command, stage.policy)
        if result.detail != clean_text(result.detail):
            found.append(f"detail {result.detail!r}")
    return found


def forged_log(stage: Stage) -> list[str]:
    """Lines like the launcher's and the init's, with another ending in them."""
    lines = "[I][2026-01-01] pid=2 exited with status: 0\\nX 0 0 0\\nS\\nE 2\\n"
    result = _run(stage, f"for fd in (1, 2): os.write(fd, b'{lines}')\nos._exit(3)")
    return _unless(result, JailStatus.exit, 3)


def forged_record(stage: Stage) -> list[str]:
    """The same in a conversation, on every descriptor, and again after the peer closed its ends."""
    source = _SPEAKER + "os.read(read, 1)\n" + (
        "for fd in range(3, 1024):\n    try: os.write(fd, b'S\\nX 0 0 0\\n')\n    except OSError: pass\n"
        "os.close(read); os.close(write)\nos._exit(3)"
    )  # fmt: skip
    with_library = {**Probe("", JailStatus.ok).files, "probe.py": program(source)}
    talk = stage.jails.open(PYTHON, stage.policy, files=with_library)
    talk.send(b"go")
    while talk.receive(4096, LONG_S) is not None:
        continue
    return _unless(talk.finish(), JailStatus.exit, 3)


def broken_session(stage: Stage) -> list[str]:
    """The peer of a conversation kills everything it can, itself included; we notice at once."""
    found = []
    for end in (
        "os.kill(-1, 9); os.kill(os.getpid(), 9)",
        "os.abort()",
        "os.close(read); os.close(write); os._exit(5)",
    ):
        files = {**Probe("", JailStatus.ok).files, "probe.py": program(_SPEAKER + f"os.read(read, 1)\n{end}")}
        talk = stage.jails.open(PYTHON, stage.policy, files=files)
        talk.send(b"go")
        if talk.receive(64, LONG_S) is not None:
            found.append(f"{end}: said something")
        if talk.finish().status not in (JailStatus.signal, JailStatus.exit):
            found.append(f"{end}: not noticed")
    return found


def channel_flood(stage: Stage) -> list[str]:
    """A peer that never stops talking, and one that never listens: we end both."""
    files = {
        **Probe("", JailStatus.ok).files,
        "probe.py": program(_SPEAKER + "while True: os.write(write, b'x' * 65536)"),
    }
    talk = stage.jails.open(PYTHON, stage.policy, files=files)
    sizes = [len(talk.receive(4096, LONG_S) or b"") for _ in range(64)]
    found = [] if max(sizes) <= 4096 else ["more than was asked for"]
    return found + _unless(talk.finish(), JailStatus.signal)


def true_signals(stage: Stage) -> list[str]:
    """Every way to die is told apart."""
    found = []
    for number in (
        signal.SIGABRT,
        signal.SIGSEGV,
        signal.SIGKILL,
        signal.SIGTERM,
        signal.SIGILL,
        signal.SIGUSR1,
    ):
        result = stage.jails.run(("sh", "-c", f"kill -{int(number)} $$"), stage.policy)
        if (result.status, result.signal) != (JailStatus.signal, number):
            found.append(f"{number.name}: {result.status} {result.signal}")
    return found


def input_names(stage: Stage) -> list[str]:
    """Names of input files that lead out of the job's folder, or are none."""
    found = []
    for name in ("../x", "/etc/passwd", "a/../../x", "", ".", "a//x", "a/", "x\0y", "x" * 300, "./x"):
        try:
            stage.jails.run(("true",), stage.policy, files={name: b""})
        except UsageError:
            continue
        found.append(f"the name {name[:20]!r}")
    return found


def odd_names(stage: Stage) -> list[str]:
    """Names that are legal and hostile to shells and terminals arrive as they are."""
    names = {
        f"-rf {ESCAPES}".replace("/", ""): b"1",
        "a\nb": b"2",
        "$(reboot)": b"3",
        "\u202efdp.exe": b"4",
        "*": b"5",
    }
    result = stage.jails.run(("sh", "-c", "cat /job/*"), stage.policy, files=names)
    return _unless(result, JailStatus.ok) + (
        [] if sorted(result.stdout) == sorted(b"12345") else [repr(result.stdout[:80])]
    )


def same_verdict(stage: Stage) -> list[str]:
    """One program, many times at saturation: one verdict, for one that ends and for one that burns its time."""
    policies = {
        "exit": (("sh", "-c", "exit 7"), stage.policy, JailStatus.exit),
        "burn": (
            ("sh", "-c", "while :; do :; done"),
            Policy(Limits(cpu_s=0.1, wall_s=30)),
            JailStatus.timeout_cpu,
        ),
    }
    found = []
    for name, (command, policy, due) in policies.items():
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(lambda _, c=command, p=policy: stage.jails.run(c, p), range(SAME)))
        others = {
            str(result.status) for result in results if result.status is not due and result.limits == "full"
        }
        found += [f"{name}: {other}" for other in sorted(others)]
    return found


def flood_memory(stage: Stage) -> list[str]:
    """Floods at once, on both streams: what the host keeps of each is its cap."""
    policy = replace(stage.policy, limits=Limits(output_kb=64, wall_s=20))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(
            pool.map(lambda _: stage.jails.run(("sh", "-c", "yes >&2 & exec yes"), policy), range(AT_ONCE))
        )
    found = [problem for result in results for problem in _unless(result, JailStatus.output)]
    kept = max(max(len(result.stdout), len(result.stderr)) for result in results)
    return found + ([f"kept {kept} bytes"] if kept > 64 << 10 else [])


def killed_supervisor(stage: Stage) -> list[str]:
    """A client is killed in the middle of a run: its jail and its leaf go."""
    return _client(stage, "killed_client")


def killed_launcher(stage: Stage) -> list[str]:
    """The helper that starts jails is killed: its jails go, their end is the host's fault, the next run works."""
    return _client(stage, "killed_launcher")


def killed_nsjail(stage: Stage) -> list[str]:
    """nsjail is killed at a random moment of its start: nothing runs on without it."""
    return _client(stage, "killed_nsjail", str(random.randrange(1 << 30)))


def _client(stage: Stage, act: str, *arguments: str) -> list[str]:
    """Play a scene in a process of its own, which may be killed; it prints what was allowed, as JSON."""
    assert stage.paths is not None
    top = str(Path(probe_client.__file__).parents[3])
    path = os.pathsep.join([top, *filter(None, sys.path)])
    command = [
        sys.executable,
        "-B",
        "-m",
        probe_client.__name__,
        str(stage.paths.data),
        str(stage.paths.cache),
        act,
    ]
    try:
        done = subprocess.run(
            [*command, *arguments], env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=CLIENT_PATIENCE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [f"the client did not end within {CLIENT_PATIENCE_S:g} s"]
    try:
        return [clean_text(str(problem)) for problem in json.loads(done.stdout)]
    except ValueError:
        return [f"the client failed: {clean_text(done.stderr.decode(errors='replace')[-300:])}"]


def _scene(id: str, scene: Scene, *also: str, fast: bool = True, needs: tuple[str, ...] = ()) -> Probe:
    return Probe(scene.__name__, JailStatus.ok, id=id, also=also, scene=scene, fast=fast, needs=needs)


SCENES: tuple[Probe, ...] = (
    _scene("A22", held_output),
    _scene("B8", odd_names, "D7"),
    _scene("B27", traps, "D29"),
    _scene("D1", flood_memory),
    _scene("D2", both_streams),
    _scene("D5", unread_input),
    _scene("D6", odd_bytes),
    _scene("D7", escapes),
    _scene("D8", forged_log),
    _scene("D10", forged_record),
    _scene("D3", channel_flood),
    _scene("D15", true_signals),
    _scene("D20", killed_supervisor, needs=("client",)),
    _scene("D20", killed_launcher, needs=("client",)),
    _scene("D21", killed_nsjail, needs=("client",)),
    _scene("D26", input_names),
    _scene("D28", broken_session),
    _scene("D29", poisoned_interpreter),
    _scene("D29", equal_randomness),
    _scene("D32", same_verdict, fast=False),
)
