"""The audit program for real: what it sees of ordinary programs, of threads and signals, and of a jail's payload."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest

from appliance.errors import SandboxError
from appliance.sandbox.auditing import (
    AuditReport,
    Connected,
    Opened,
    Recording,
    audited,
    denials,
    describe,
    has_ended,
    parse,
)
from appliance.sandbox.image import Image, own_interpreter, prepare
from appliance.sandbox.launcher import Launcher
from appliance.sandbox.nsjail import Identity, arguments, nsjail_binary
from appliance.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0
PYTHON = (str(Path(sys.base_prefix).resolve() / "bin" / "python3"), "-I", "-S", "-c")

needs_ptrace = pytest.mark.skipif(util.find_spec("ptrace") is None, reason="python-ptrace is not installed")


def audit(argv: Sequence[str], **options: object) -> tuple[subprocess.CompletedProcess[bytes], AuditReport]:
    """Run `argv` itself under audit, with everything it does reported."""
    with Recording() as recording:
        wrapped = audited(argv, recording.fd, level=0, work="/work", **options)  # type: ignore[arg-type]
        run = subprocess.run(wrapped, capture_output=True, pass_fds=[recording.fd], timeout=PATIENCE_S)
        return run, recording.read(PATIENCE_S)


def audit_python(source: str) -> tuple[subprocess.CompletedProcess[bytes], AuditReport]:
    run, report = audit([*PYTHON, source])
    assert report.complete
    assert report.trouble == ""
    return run, report


def test_only_the_program_itself_imports_the_library() -> None:
    importers = []
    for path in [*ROOT.glob("appliance/**/*.py"), *ROOT.glob("sandbox/**/*.py"), *ROOT.glob("queue/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "ptrace" or name == "appliance.sandbox.audit" for name in names):
                importers.append(path.name)
    assert set(importers) == {"audit.py"}
    code = "import sys, appliance.sandbox.auditing; print('ptrace' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT).stdout == b"False\n"


def test_without_the_library_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "ptrace", raising=False)
    with pytest.raises(SandboxError, match="python-ptrace") as caught:
        audited(["true"], 9)
    assert caught.value.remedy == "pip install 'post-training-appliance[audit]'"


def test_the_command_line_names_the_cgroups_to_join() -> None:
    pytest.importorskip("ptrace")
    wrapped = audited(["/nsjail", "--", "x"], 5, joins=["/a/cgroup.procs", "/b/cgroup.procs"])
    assert wrapped[wrapped.index("appliance.sandbox.audit") + 1 :] == [
        *("--report", "5", "--level", "2", "--work", "/work"),
        *("--join", "/a/cgroup.procs", "--join", "/b/cgroup.procs", "--", "/nsjail", "--", "x"),
    ]


def test_a_report_that_was_cut_short_is_read_as_far_as_it_goes() -> None:
    lines = [
        '{"kind": "denied", "call": "mount", "error": "EPERM"}',
        '{"kind": "untraced", "call": "clone"}',
        "Traceback \x1b[31m(most recent",
        '{"kind": "count", "line": 0, "count": 4}',
    ]
    body = "\n".join([*lines, '{"kind": "exec", "pa']).encode()
    report = parse(body)
    assert not has_ended(body)
    assert not report.complete
    assert denials(report) == {"mount": 4}
    assert (report.untraced, report.executed) == (1, ())
    assert report.trouble == "Traceback (most recent"
    assert describe(report).splitlines() == [
        "denied     mount EPERM x4",
        "opened     0 different files (--json names them)",
        "untraced   1 processes evaded the audit",
        "missing    what came after the audit was cut short",
        "trouble    Traceback (most recent",
    ]
    assert json.loads(json.dumps(report.to_json()))["denied"] == [
        {"count": 4, "call": "mount", "error": "EPERM"}
    ]


def test_hostile_words_in_a_report_do_not_reach_a_terminal() -> None:
    said = {"kind": "exec", "path": "/x\x1b[2J\u202e\n" + "y" * 9999, "result": "ok"}
    (executed,) = parse(f"{json.dumps(said)}\n".encode()).executed
    assert executed.path.startswith("/x y")
    assert executed.path.isprintable()
    assert len(executed.path) <= 600
    with pytest.raises(SandboxError, match="report without 'path'"):
        parse(b'{"kind": "exec"}\n')


@needs_ptrace
@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15)]
)
def test_the_command_ends_as_without_audit(script: str, code: int) -> None:
    run, report = audit(["/bin/sh", "-c", f"echo out; echo err >&2; {script}"])
    assert run.returncode == code
    assert (run.stdout, run.stderr) == (b"out\n", b"err\n")
    assert report.ended[-1].status == code
    assert report.ended[-1].program == "/bin/sh"


@needs_ptrace
def test_a_command_that_cannot_be_started_is_said() -> None:
    run, report = audit(["/no/such/program"])
    assert run.returncode == 127
    assert [(item.path, item.result) for item in report.executed] == [("/no/such/program", "ENOENT")]
    assert report.trouble.startswith("cannot start the command:")
    assert run.stderr == b""


@needs_ptrace
def test_opens_links_changes_and_connects_are_seen(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to("secret")
    source = f"""
import os, socket
os.chdir({str(tmp_path)!r})
open("link").close()
open("made", "w").close()
os.rename("made", "moved")
fd = os.open(".", os.O_RDONLY)
os.unlink("moved", dir_fd=fd)
try: os.mkdir("/proc/x")
except OSError: pass
open("/dev/null", "w").close()
for family, address in ((2, ("127.0.0.1", 9)), (10, ("::1", 9)), (1, "/no/socket"), (1, "\\0name")):
    try: socket.socket(family).connect(address)
    except OSError: pass
socket.socket(2, 2).sendto(b"x", ("127.0.0.1", 53))
"""
    run, report = audit_python(source)
    assert run.returncode == 0, run.stderr
    found = [item for item in report.opened if item.path == f"{tmp_path}/link"]
    assert found == [Opened(1, f"{tmp_path}/link", f"{tmp_path}/secret", "read", False, "ok")]
    changed = [(item.call, item.path, item.result) for item in report.changed]
    assert [item for item in changed if item[1].startswith(str(tmp_path))] == [
        ("openat", f"{tmp_path}/made", "ok"),
        ("rename", f"{tmp_path}/made", "ok"),
        ("rename", f"{tmp_path}/moved", "ok"),
        ("unlinkat", f"{tmp_path}/moved", "ok"),
    ]
    assert [item[:2] for item in changed if not item[1].startswith(str(tmp_path))] == [("mkdir", "/proc/x")]
    assert set(report.connected) == {
        Connected(1, "connect", "inet", "127.0.0.1:9", "ECONNREFUSED"),
        Connected(1, "connect", "inet6", "[::1]:9", "ECONNREFUSED"),
        Connected(1, "connect", "unix", "/no/socket", "ENOENT"),
        Connected(1, "connect", "unix", "@name", "ECONNREFUSED"),
        Connected(1, "sendto", "inet", "127.0.0.1:53", "ok"),
    }


@needs_ptrace
def test_hostile_names_and_bad_pointers_are_bounded_and_escaped() -> None:
    source = r"""
import ctypes, os
libc = ctypes.CDLL(None)
for name in (b"/\x1b[31m\n\xff\xe2\x80\xae", b"/" + b"y" * 4000):
    try: os.open(name, 0)
    except OSError: pass
libc.syscall(2, 1, 0); libc.syscall(2, -1, 0); libc.syscall(257, 99, b"x", 0); libc.syscall(42, 0, 1, 99)
libc.syscall(59, 0, 0, 0); libc.syscall(437, -100, b"/z", 1, 24); libc.syscall(46, 0, 1, 0)
"""
    run, report = audit_python(source)
    assert run.returncode == 0, run.stderr
    paths = {item.path for item in report.opened}
    assert "/\\x1b[31m\\n\\xff\\u202e" in paths
    assert "?/x" in paths
    assert all(path.isprintable() and len(path) <= 520 for path in paths)
    assert any(path.endswith("yyy…") for path in paths)


@needs_ptrace
def test_unknown_calls_and_a_flood_of_records_are_survived() -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None)
for number in (*range(600, 700), 9999, 1 << 30, -1, *[461] * 3): libc.syscall(number, 0, 0, 0, 0, 0, 0)
for number in range(1500):
    try: os.open(f"/none/{number}", 0)
    except OSError: pass
"""
    run, report = audit_python(source)
    assert run.returncode == 0, run.stderr
    counts = denials(report)
    assert counts["call 9999"] == counts["call 699"] == 1
    assert len(report.opened) == 1000
    assert report.dropped >= 500


@needs_ptrace
def test_threads_children_and_execs_from_a_thread_are_followed() -> None:
    source = """
import os, subprocess, threading, time
threads = [threading.Thread(target=lambda n=n: open(f"/etc/none{n}") if os.path.exists(f"/etc/none{n}")
           else subprocess.run(["/bin/true"])) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execv("/bin/sleep", ["sleep", "0.2"])
    os._exit(5)
os.wait()
threading.Thread(target=lambda: os.execv("/bin/sh", ["sh", "-c", "exit 9"])).start()
time.sleep(60)
"""
    run, report = audit_python(source)
    assert run.returncode == 9
    execs = {item.path: item.count for item in report.executed}
    assert execs["/bin/true"] == 8
    assert execs["/bin/sleep"] == execs["/bin/sh"] == 1
    ends = [(item.program, item.status) for item in report.ended]
    assert ends.count(("/bin/true", 0)) == 8
    assert ("/bin/sleep", 0) in ends
    assert ("/bin/sh", 9) in ends
    assert report.ended[0].count == 1


@needs_ptrace
def test_stopping_and_continuing_works_as_without_audit() -> None:
    source = """
import os, signal, time
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    # Who has ended already is not told of as continued.
    time.sleep(1)
    os._exit(3)
print(os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))
os.kill(child, signal.SIGCONT)
print(os.WIFCONTINUED(os.waitpid(child, os.WCONTINUED)[1]), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run, _ = audit_python(source)
    assert run.stdout == b"True\nTrue 3\n"


@needs_ptrace
def test_a_child_that_evades_the_trace_is_told() -> None:
    source = """
import ctypes, os
pid = ctypes.CDLL(None).syscall(56, 0x800000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
os.waitpid(pid, 0)
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the number of clone is that of x86-64")
    assert audit_python(source)[1].untraced == 1


@needs_ptrace
def test_what_is_traced_dies_with_its_tracer() -> None:
    with Recording() as recording:
        run = subprocess.Popen(audited(["/bin/sleep", "600"], recording.fd, level=0), pass_fds=[recording.fd])
        deadline = time.monotonic() + PATIENCE_S
        while not recording.read(0).executed:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        tracer = tracer_of(run.pid)
        assert tracer not in (0, run.pid, os.getpid())
        os.kill(tracer, signal.SIGKILL)
        assert run.wait(PATIENCE_S) == -signal.SIGKILL
        assert not recording.read(0).complete


# A jail's command line, started as the jail's launcher starts it.

PAYLOAD = """
import ctypes, os, socket, subprocess
open("/etc/passwd").close()
try: socket.create_connection(("127.0.0.1", 9))
except OSError as error: print(error.errno)
subprocess.run(["/usr/bin/true"])
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(3): libc.mount(b"none", b"/work", b"tmpfs", 0, None)
open("/tmp/outside", "w").close()
open("/work/inside", "w").close()
os.symlink("/tmp", "/work/way")
open("/work/way/sly", "w").close()
try: open("/etc/passwd", "w")
except OSError: pass
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return prepare(tmp_path_factory.mktemp("images"), own_interpreter())


def jailed(image: Image, source: str, *, joins: Sequence[str] = ()) -> tuple[bytes, bytes, int, AuditReport]:
    """Run `source` as the child of an unreadable interpreter, like that of a jail's init, in a real jail."""
    # The init's own protocol is not what is tested here.
    init = "import posix, sys\npid = posix.posix_spawn(sys.argv[1], sys.argv[1:], {}, setsid=True)\n"
    init += "sys.exit(posix.waitstatus_to_exitcode(posix.wait()[1]) & 255)"
    detour = [] if os.geteuid() == 0 else ["/usr/bin/env"]
    payload = [image_python(image), "-I", "-S", "-c", source]
    command = [*detour, image.interpreter, "-I", "-S", "-c", init, *payload]
    launcher = Launcher(image.root)
    with Recording() as recording:
        try:
            stage = launcher.stage()
            identity = Identity(0x7000_0000 + 999, 0x7000_0000 + 999) if os.geteuid() == 0 else own_identity()
            argv = arguments(
                nsjail_binary().path,
                replace(image, root=stage.root),
                f"{stage.jobs}/none",
                Limits(wall_s=30, cpu_s=20),
                identity,
                enforced=False,
                channel=False,
            )
            (out, out_end), (log, log_end) = os.pipe(), os.pipe()
            null = os.open(os.devnull, os.O_RDWR)
            # In their order: stdin, stdout, stderr, nsjail's log, the init's own, the report.
            fds = [null, out_end, out_end, log_end, null, recording.fd]
            line = launcher.launch(audited([*argv, *command], 5, joins=joins), [], fds)
            for fd in (out_end, log_end, null):
                os.close(fd)
            status = int(line.recv(64))
            said, logged = drained(out), drained(log)
            return said, logged, os.waitstatus_to_exitcode(status), recording.read(PATIENCE_S)
        finally:
            launcher.close()


def image_python(image: Image) -> str:
    return image.search_path.split(":")[0] + "/python3"


def own_identity() -> Identity:
    return Identity(os.geteuid(), os.getegid())


def drained(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


@needs_ptrace
@pytest.mark.jail
def test_a_jails_payload_is_seen_and_nothing_before_it(image: Image) -> None:
    said, logged, code, report = jailed(image, PAYLOAD)
    assert (said, code) == (b"111\n", 0), (said, logged, report.trouble)
    assert report.complete
    assert report.trouble == ""
    assert report.executed[0].path == image_python(image)
    assert [item.path for item in report.executed].count("/usr/bin/true") == 1
    opened = [(item.path, item.access, item.result) for item in report.opened]
    assert ("/etc/passwd", "read", "ok") in opened
    assert ("/etc/passwd", "write", "EROFS") in opened
    assert not any(str(image.root) in item.path + item.real for item in report.opened)
    assert report.connected == (Connected(1, "connect", "inet", "127.0.0.1:9", "ECONNREFUSED"),)
    assert denials(report)["mount"] == 3
    assert [(item.call, item.path, item.result) for item in report.changed] == [
        ("openat", "/tmp/outside", "ok"),
        ("openat", "/tmp/sly", "ok"),
        ("openat", "/etc/passwd", "EROFS"),
    ]
    assert [(item.program, item.status) for item in report.ended] == [
        ("/usr/bin/true", 0),
        (image_python(image), 0),
    ]


@needs_ptrace
@pytest.mark.jail
def test_a_call_that_kills_the_payload_is_seen(image: Image) -> None:
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGSYS)"
    _, _, code, report = jailed(image, source)
    assert code != 0
    assert report.ended[-1].status == -signal.SIGSYS


@needs_ptrace
@pytest.mark.jail
def test_the_tracer_stays_out_of_the_jails_cgroup(image: Image) -> None:
    from appliance.sandbox.cgroups import nursery

    found, why = nursery()
    if found is None:
        pytest.skip(f"no cgroups here: {why}")
    leaf = found.leaf(Limits())
    inside: set[int] = set()
    tracers: set[int] = set()
    try:
        with ThreadPoolExecutor() as threads:
            running = threads.submit(jailed, image, "import time; time.sleep(0.5)", joins=leaf.joins)
            while not running.done():
                inside.update(leaf.pids())
                tracers.update(filter(None, map(tracer_of, inside)))
                time.sleep(0.01)
        assert running.result()[2] == 0, running.result()
    finally:
        assert leaf.remove()
    assert len(inside) >= 3
    assert len(tracers) == 1
    assert not inside & tracers


def tracer_of(pid: int) -> int:
    """Who traces a process; 0 for nobody, or when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("TracerPid:")[2].split()[0])


@needs_ptrace
@pytest.mark.jail
def test_under_audit_the_init_is_as_far_out_of_reach_as_without(image: Image) -> None:
    source = """
import ctypes, os
for name in ("mem", "environ", "maps", "fd/0"):
    try: print(name, os.open(f"/proc/1/{name}", 0))
    except PermissionError: pass
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), os.strerror(ctypes.get_errno()))
"""
    said, logged, code, report = jailed(image, source)
    assert said == b"-1 Operation not permitted\n", (code, logged, report.trouble)
    assert denials(report)["ptrace"] == 1
    refused = {item.path for item in report.opened if item.result == "EACCES"}
    assert refused >= {"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd/0"}
