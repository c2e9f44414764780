"""Warm jails: forked from a zygote, single-use, and not to be told from cold ones by what runs in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.paths import Paths
from appliance.sandbox import pool
from appliance.sandbox.cell import Shape
from appliance.sandbox.cgroups import PREFIX
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.pool import Shelf

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}"),
]

ROOT = Path(__file__).resolve().parents[1]
QUICK = Policy(Limits(wall_s=20, cpu_s=10))
ALIKE = {
    "prints": "print('x')",
    "exit code": "import sys; sys.exit(3)",
    "exit text": "import sys; sys.exit('bye')",
    "exception": "raise ValueError('é')",
    "syntax": "1 +",
    "exit functions": "import atexit; atexit.register(lambda: print('at'))",
    "threads": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print('t'))).start()",
    "at once": "import os; os._exit(4)",
    "itself": "import sys; print(sys.argv, sys.path, sys.executable, sys.prefix, sys.flags)",
    "main": "import __main__; print(__name__, __file__, sorted(vars(__main__)))",
    "input": "print(input()); import sys; print(sys.stdin.read())",
    "pool": "from multiprocessing import Pool\nif __name__ == '__main__': print(Pool(2).map(abs, [-1]))",
    "environment": "import os; print(sorted(os.environ.items()))",
    "encodings": "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr): print(s.encoding, s.errors, s.isatty())",
    "surrogate": "print('\\udc80')",
    "interrupt": "import os; os.kill(os.getpid(), 2)",
    "handlers": "import signal; print([signal.getsignal(n) for n in (2, 13, 15, 17, 25)])",
    "identity": "import os; print(os.getuid(), os.getgid(), os.getgroups(), os.getcwd(), os.umask(0), os.nice(0))",
    "limits": "import resource as r; print([r.getrlimit(n) for n in (0, 1, 4, 7, 8)])",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "builtins": "import builtins; print([n for n in ('exit', 'quit', 'help') if hasattr(builtins, n)])",
    "modules": "import sys; print([name for name in sys.modules if 'appliance' in name])",
    "source": "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
    "pickles": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))",
    "privileges": "print([l for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNew', 'Seccomp:', 'Uid'))])",
    "loopback": "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
    "socket.create_connection(s.getsockname()); print('ok')",
    "mounts": "print(sorted(set(line.split()[4] for line in open('/proc/self/mountinfo'))))",
    "cgroup": "print(open('/proc/self/cgroup').read())",
    "name": "print(open('/proc/self/comm').read())",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("home")
    return Paths(folder / "data", folder / "cache")


@pytest.fixture(scope="module")
def cold(home: Paths) -> Iterator[Jails]:
    with Jails(home) as found:
        yield found


@pytest.fixture(scope="module")
def warm(home: Paths) -> Iterator[Jails]:
    with Jails(home, warm=True) as found:
        yield found
        assert found.cold_because == ""


def told(jails: Jails, source: str, *options: str) -> tuple[object, ...]:
    command = ["python3", *options, "/job/main.py", "one"]
    result = jails.run(command, QUICK, files={"main.py": source.encode()}, stdin=b"first\nrest")
    return (result.status, result.exit_code, result.signal, result.stdout, result.stderr)


@pytest.mark.parametrize("source", ALIKE.values(), ids=ALIKE)
def test_a_job_cannot_tell_a_warm_jail_from_a_cold_one(cold: Jails, warm: Jails, source: str) -> None:
    assert told(warm, source) == told(cold, source)


@pytest.mark.parametrize("options", [["-I"], ["-S"], ["-B"], ["-IS"], ["-u"], ["-P"], ["-E", "-s"]])
def test_options_of_the_interpreter_mean_what_they_mean(cold: Jails, warm: Jails, options: list[str]) -> None:
    source = "import sys, builtins; print(sys.path, hasattr(builtins, 'exit'), sys.argv)"
    assert told(warm, source, *options) == told(cold, source, *options)


@pytest.mark.parametrize(
    "command",
    [
        ["python3"],
        ["python3", "-"],
        ["python3", "-c"],
        ["python3", "-c", "import sys; print(sys.argv, sys.path[0])", "x"],
        ["python3", "-V"],
        ["python3", "-m", "this"],
        ["python3", "-O", "-c", "assert False"],
        ["python3", "/job/missing.py"],
        ["/bin/echo", "-n", "x"],
        ["no-such-program"],
        ["/etc/passwd"],
        ["sh", "-c", "exit 7"],
        ["sh", "-c", "kill -SEGV $$"],
    ],
)
def test_any_command_ends_alike(cold: Jails, warm: Jails, command: list[str]) -> None:
    def end(jails: Jails) -> tuple[object, ...]:
        result = jails.run(command, QUICK, stdin=b"print('from stdin')")
        return (result.status, result.exit_code, result.signal, result.stdout, result.stderr, result.detail)

    assert end(warm) == end(cold)


def test_a_variable_of_python_gets_a_new_interpreter(warm: Jails) -> None:
    policy = Policy(env=(("PYTHONHASHSEED", "7"),))
    hashes = {warm.run(["python3", "-c", "print(hash('x'))"], policy).stdout for _ in range(2)}
    assert len(hashes) == 1
    assert hashes != {warm.run(["python3", "-c", "print(hash('x'))"], Policy()).stdout}


def test_siblings_of_one_zygote_draw_different_numbers(warm: Jails) -> None:
    source = (
        "import random, os, uuid, ssl\n"
        "print(random.random(), os.urandom(8).hex(), uuid.uuid4(), ssl.RAND_bytes(8).hex())"
    )
    drawn = [warm.run(["python3", "-c", source], QUICK).stdout.split() for _ in range(4)]
    for column in zip(*drawn, strict=True):
        assert len(set(column)) == 4


def test_limits_hold_from_the_order_on(warm: Jails) -> None:
    """The waiting jail was made for others: each order brings its own, on the tree and on each process."""
    hog = ["python3", "-c", "x = b'x' * (100 << 20)"]
    assert warm.run(hog, Policy(Limits(memory_mb=64))).status is JailStatus.memory
    assert warm.run(hog, Policy(Limits(memory_mb=256))).status is JailStatus.ok
    assert warm.run(["sleep", "9"], Policy(Limits(wall_s=0.2))).status is JailStatus.timeout_wall
    burn = ["python3", "-c", "while True: pass"]
    assert warm.run(burn, Policy(Limits(cpu_s=0.2))).status is JailStatus.timeout_cpu
    threads = (
        "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1,)).start()"
    )
    assert warm.run(["python3", "-c", threads], Policy(Limits(pids=8))).status is JailStatus.processes


def test_two_jobs_share_nothing(warm: Jails) -> None:
    leave = "touch /work/x /tmp/x /dev/shm/x; ls -A /work /tmp /dev/shm /job | grep -c '^x'"
    for _ in range(3):
        result = warm.run(["sh", "-c", leave], QUICK, files={"y": b""})
        assert result.stdout == b"3\n"


def test_files_of_another_jail_are_out_of_sight(warm: Jails) -> None:
    with warm.open(["sleep", "20"], QUICK, files={"secret": b""}) as talk:
        look = "ls -AR /job; cat /proc/self/mountinfo | grep -c /jobs/; ls /job/.. | grep -c zygote"
        result = warm.run(["sh", "-c", look], QUICK)
        assert b"secret" not in result.stdout
        talk.finish()


def test_what_a_daemon_holds_does_not_delay_the_end(warm: Jails) -> None:
    result = warm.run(["sh", "-c", "(setsid sleep 15 &) ; echo done"], QUICK)
    assert (result.status, result.stdout) == (JailStatus.ok, b"done\n")
    assert result.wall_s < 10


def came(what: object, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


CROWD = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits, Policy
before = os.listdir("/proc/self/fd")
with Jails(Paths(Path(sys.argv[1]), Path(sys.argv[2])), warm=True) as jails:
    policy = Policy(Limits(wall_s=20, cpu_s=10))
    with ThreadPoolExecutor(8) as crowd:
        done = list(crowd.map(lambda n: jails.run(["sh", "-c", f"exit {n}"], policy).exit_code, range(40)))
    leaves = [str(folder) for cell in jails.waiting() if cell.leaf for folder in cell.leaf.folders]
assert done == list(range(40)), done
assert len(os.listdir("/proc/self/fd")) == len(before), os.listdir("/proc/self/fd")
assert not [folder for folder in leaves if Path(folder).exists()]
print(jails.live, len(leaves) > 0, len(os.listdir("/proc/self/task")))
"""


def test_jails_end_and_leave_nothing(home: Paths) -> None:
    """In a process of its own, where no other pool refills meanwhile."""
    done = subprocess.run(
        [sys.executable, "-c", CROWD, str(home.data), str(home.cache)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "0 True 1\n", done.stderr[-2000:]


def zygote_pid() -> int:
    """Of the one zygote below this process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            inside = [row for row in (folder / "status").read_text().splitlines() if row.startswith("NSpid")]
        except OSError:
            continue
        ours = f"zygote-{os.getpid()}-".encode() in b" ".join(words)
        if ours and inside[0].split()[2:] == ["1"]:
            found.append(int(folder.name))
    assert found
    return max(found)


def test_a_dead_zygote_is_infra_and_the_next_run_works(home: Paths) -> None:
    with Jails(home, warm=True) as jails:
        with jails.open(["sh", "-c", "echo up >&6; sleep 60"], QUICK) as talk:
            assert talk.receive(10, 20) == b"up\n"
            os.kill(zygote_pid(), signal.SIGKILL)
            assert talk.receive(10, 20) is None
            result = talk.finish()
        assert result.status is JailStatus.infra
        assert came(lambda: jails.run(["true"], QUICK).status is JailStatus.ok)
        assert all(jails.run(["true"], QUICK).status is JailStatus.ok for _ in range(4))


ORPHAN = """
import sys, time
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits, Policy
jails = Jails(Paths(Path(sys.argv[1]), Path(sys.argv[2])), warm=True)
policy = Policy(Limits(wall_s=90))
sessions = [jails.session(policy) for _ in range(3)]
print(all(session.healthy() for session in sessions), jails.run(["true"], policy).status, flush=True)
time.sleep(60)
"""


def test_a_killed_client_leaves_no_jail_session_or_cgroup(home: Paths) -> None:
    command = [sys.executable, "-c", ORPHAN, str(home.data), str(home.cache)]
    client = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert client.stdout is not None
    assert client.stdout.readline() == b"True ok\n"
    mark = f"{PREFIX}-{client.pid}-"
    assert members(mark) != []
    client.kill()
    client.wait()
    client.stdout.close()
    assert came(lambda: members(mark) == [])
    assert came(lambda: leaves(mark) == [])


def leaves(mark: str) -> list[str]:
    """Cgroups with such a name; os.walk does not mind folders that go while it looks."""
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(mark)]


def members(mark: str) -> list[str]:
    """Processes in cgroups with such a name, or, where there are none, in any zygote's process namespace."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                mark in (folder / "cgroup").read_text()
                or mark.split("-")[-2].encode()
                in ((folder / "cmdline").read_bytes().partition(b"/zygote-")[2].split(b"-")[:1])
            ):
                found.append(folder.name)
        except OSError:
            continue
    return found


def test_a_worn_zygote_is_replaced(home: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_FORKS", 4)
    with Jails(home, warm=True) as jails:
        assert [jails.run(["true"], QUICK).status for _ in range(14)] == [JailStatus.ok] * 14


def test_a_host_without_zygotes_gets_cold_jails_and_says_so(
    home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.sandbox.nest.JOB", "/nowhere")
    with Jails(home, warm=True) as jails:
        assert jails.run(["true"], QUICK).status is JailStatus.ok
        assert "zygote" in jails.cold_because


def test_a_shelf_follows_demand() -> None:
    shelf = Shelf(Shape(1, 16))
    assert shelf.wanted(1e6, 0.01, 32) == 0
    now = 1000.0
    for _ in range(400):
        now += 0.01
        shelf.note(now)
    assert 80 < shelf.rate < 120
    assert 2 + 8 <= shelf.wanted(now, 0.05, 32) <= 2 + 12
    assert shelf.wanted(now, 5.0, 32) == 32
    assert shelf.wanted(now + pool.MAX_AGE_S + 1, 0.05, 32) == 0
