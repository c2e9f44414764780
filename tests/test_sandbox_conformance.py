"""What every way of running jails must do alike: one suite, each client put through all of it.

A variant is one line in `VARIANTS`: a context that gives something with the interface of `Jails`. The last test runs
one table of commands through all of them and compares what came back.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import VARIANTS, came, descriptors, echo, mark, sleepers

from appliance.errors import UsageError
from appliance.paths import Paths, from_environment
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.ending import CLOSED, JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy

pytestmark = pytest.mark.jail

QUICK = Policy(Limits(wall_s=20, cpu_s=10))
BRIEF = Policy(Limits(wall_s=0.5))
MARK = mark()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=VARIANTS)
def jails(request: pytest.FixtureRequest, home: Path) -> Iterator[Any]:
    with VARIANTS[request.param](home) as found:
        yield found


def own(jails: Any) -> list[str]:
    """Our descriptors, as far as they say anything: who keeps jails ready in this process has more or fewer at any
    time."""
    return [] if getattr(jails, "_warm", False) else descriptors()


def shell(jails: Any, text: str, policy: Policy = QUICK, **more: Any) -> JailResult:
    result = jails.run(["sh", "-c", text], policy, **more)
    assert isinstance(result, JailResult)
    return result


def test_a_command_finds_files_input_variables_and_a_folder_to_work_in(jails: Any) -> None:
    result = shell(
        jails,
        "pwd; cat /job/deep/er/name; cat; echo $GREETING; touch /work/x; echo written >&2",
        Policy(env=(("GREETING", "hello"),)),
        files={"deep/er/name": b"file\n"},
        stdin=b"input\n",
    )
    assert (result.status, result.exit_code, result.signal) == (JailStatus.ok, 0, None)
    assert (result.stdout, result.stderr) == (b"/work\nfile\ninput\nhello\n", b"written\n")


@pytest.mark.parametrize("code", [1, 2, 126, 127, 255])
def test_an_exit_code_comes_back(jails: Any, code: int) -> None:
    result = shell(jails, f"exit {code}")
    assert (result.status, result.exit_code, result.signal) == (JailStatus.exit, code, None)


@pytest.mark.parametrize("number", [1, 6, 9, 11, 15])
def test_a_signal_comes_back(jails: Any, number: int) -> None:
    result = shell(jails, f"ulimit -c 0; kill -{number} $$")
    assert (result.status, result.exit_code, result.signal) == (JailStatus.signal, None, number)


def test_signals_of_limits_that_a_command_sends_itself_are_no_limits(jails: Any) -> None:
    spent = shell(jails, "kill -XCPU $$")
    assert (spent.status, spent.signal) == (JailStatus.signal, signal.SIGXCPU)
    refused = shell(jails, "kill -SYS $$")
    assert (refused.status, refused.signal) == (JailStatus.denied, signal.SIGSYS)
    assert "or sent by a process" in refused.detail


def test_too_much_output_is_told_the_same_whether_its_end_or_the_flood_came_first(jails: Any) -> None:
    for _ in range(10):
        result = jails.run(["head", "-c", "262145", "/dev/zero"], Policy())
        assert (result.status, result.exit_code, result.signal) == (JailStatus.output, None, None)
        assert result.stdout == bytes(262144)


def test_what_is_not_there_and_what_cannot_be_executed_are_denied(jails: Any) -> None:
    missing = jails.run(["/no/such/program"], QUICK)
    assert (missing.status, missing.exit_code) == (JailStatus.denied, None)
    assert "No such file" in missing.detail
    refused = jails.run(["/etc/passwd"], QUICK)
    assert refused.status is JailStatus.denied
    assert "Permission denied" in refused.detail


def test_a_timeout_kills_the_children_too(jails: Any) -> None:
    text = f"sleep {MARK} & (sleep {MARK} & sleep {MARK}); sleep {MARK}"
    result = shell(jails, f"echo partial; {text}", BRIEF)
    assert (result.status, result.stdout) == (JailStatus.timeout_wall, b"partial\n")
    assert sleepers(MARK) == []


def test_what_a_command_leaves_running_is_killed(jails: Any) -> None:
    assert shell(jails, f"setsid sleep {MARK} >/dev/null 2>&1 & exit 0").status is JailStatus.ok
    assert sleepers(MARK) == []


def test_large_input_arrives_whole_and_need_not_be_read(jails: Any) -> None:
    body = os.urandom(1 << 20) * 20
    result = jails.run(["sha256sum"], QUICK, stdin=body)
    own = subprocess.run(["sha256sum"], input=body, capture_output=True, check=True)
    assert result.stdout == own.stdout
    assert jails.run(["true"], QUICK, stdin=body).status is JailStatus.ok


def test_large_output_arrives_up_to_its_cap(jails: Any) -> None:
    policy = Policy(Limits(output_kb=4096))
    source = "import os\nfor _ in range(400):\n    os.write(2, b'e' * 10000)\n    os.write(1, b'o' * 10000)"
    result = jails.run(["python3", "-c", source], policy)
    assert (result.status, result.stdout, result.stderr) == (
        JailStatus.ok,
        b"o" * 4_000_000,
        b"e" * 4_000_000,
    )
    full = jails.run(["head", "-c", "102400", "/dev/zero"], Policy(Limits(output_kb=100)))
    assert (full.status, len(full.stdout)) == (JailStatus.ok, 102_400)
    over = jails.run(["head", "-c", "102401", "/dev/zero"], Policy(Limits(output_kb=100)))
    assert (over.status, len(over.stdout)) == (JailStatus.output, 102_400)


def test_bytes_that_are_no_text_pass_both_ways(jails: Any) -> None:
    body = bytes(range(256)) * 300
    assert jails.run(["cat"], QUICK, stdin=body).stdout == body
    assert jails.run(["cat", "/job/x"], QUICK, files={"x": body}).stdout == body
    assert shell(jails, r"printf '\377\376' >&2").stderr == b"\xff\xfe"
    odd = os.fsdecode(b"\xff\xfe \x1b[31m\xc3")
    assert jails.run(["printf", "%s", odd], QUICK).stdout == os.fsencode(odd)
    assert shell(jails, 'printf %s "$ODD"', Policy(env=(("ODD", odd),))).stdout == os.fsencode(odd)


def test_files_with_odd_names_are_found_under_them(jails: Any) -> None:
    names = [
        *(" ", "-rf", "a b", "line\nbreak", "quote'\"", "$(id)", "ümlaut", "\u202eevil", "*", "\\", "~"),
        *("x" * 255, "deep/" * 20 + "end", os.fsdecode(b"raw-\xff\xfe"), "..hidden", "...", ".dot", "empty"),
    ]
    files = {name: (b"" if name == "empty" else os.fsencode(name)) for name in names}
    source = """
import os, sys
for folder, _, names in os.walk(b"/job"):
    for name in names:
        path = os.path.join(folder, name)
        if path != b"/job/main.py":
            body = open(path, "rb").read()
            assert body in (os.path.relpath(path, b"/job"), b""), path
            print(len(body))
"""
    result = jails.run(["python3", "/job/main.py"], QUICK, files={**files, "main.py": source.encode()})
    assert result.status is JailStatus.ok, result.stderr
    assert sorted(map(int, result.stdout.split())) == sorted(map(len, files.values()))


def test_files_cannot_be_changed(jails: Any) -> None:
    result = shell(jails, "echo more >>/job/x; rm -f /job/x; touch /job/y; cat /job/x", files={"x": b"same"})
    assert result.stdout == b"same"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ([], {}),
        ([""], {}),
        ("true", {}),
        (["true\0"], {}),
        (["x" * 100_000], {}),
        (["true", "\ud800"], {}),
        (["true"], {"\ud800": b""}),
        (["true"], {"/etc/passwd": b""}),
        (["true"], {"../x": b""}),
        (["true"], {"a//b": b""}),
        (["true"], {"": b""}),
        (["true"], {"x" * 256: b""}),
        (["true"], {"a": b"", "a/b": b""}),
        (["true"], {f"{number}": b"" for number in range(4097)}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_cannot_be_run_is_a_usage_error(
    jails: Any, command: Sequence[str], files: Mapping[str, bytes]
) -> None:
    with pytest.raises(UsageError):
        jails.run(command, QUICK, files=files)
    with pytest.raises(UsageError):
        jails.open(command, QUICK, files=files)
    assert came(lambda: jails.live == 0)


def test_two_runs_share_nothing(jails: Any) -> None:
    leave = "touch /work/x /tmp/x /dev/shm/x /var/tmp/x 2>/dev/null; ls -A /work /tmp /dev/shm | grep -c x"
    assert shell(jails, leave).stdout == b"3\n"
    assert shell(jails, "ls -A /work /tmp /dev/shm | grep -c x").stdout == b"0\n"


def test_what_it_used_is_measured_and_limits_are_reported(jails: Any) -> None:
    source = "import time\nhoard = b'x' * (40 << 20)\nend = time.process_time() + 0.3\n"
    source += "while time.process_time() < end: pass"
    result = jails.run(["python3", "-c", source], QUICK)
    full = nursery()[0] is not None
    assert result.limits == ("full" if full else "reduced")
    # The clocks of the kernel differ by a tick or two.
    assert 0.29 < result.cpu_s < 5
    assert result.wall_s > 0.29
    assert (result.peak_mib is not None and 40 < result.peak_mib < 256) or not full


def test_memory_and_processes_are_limited(jails: Any) -> None:
    if nursery()[0] is None:
        pytest.skip("no cgroups here")
    hog = jails.run(["python3", "-c", "b'x' * (80 << 20)"], Policy(Limits(memory_mb=48)))
    assert hog.status is JailStatus.memory
    many = f"for i in 1 2 3 4 5 6 7 8 9; do sleep {MARK} & done; wait"
    assert shell(jails, many, Policy(Limits(pids=4, wall_s=5))).status is JailStatus.processes
    assert sleepers(MARK) == []


def test_many_at_once_answer_for_themselves(jails: Any) -> None:
    def one(number: int) -> tuple[bytes, bytes]:
        result = shell(jails, f"cat /job/n; exit {number}", files={"n": b"%d" % number})
        assert (result.status, result.exit_code) == (JailStatus.exit, number), result
        return result.stdout, b"%d" % number

    one(1)
    before = own(jails)
    with ThreadPoolExecutor(16) as pool:
        assert all(got == wanted for got, wanted in pool.map(one, range(1, 65)))
    assert own(jails) == before


def test_a_conversation_goes_back_and_forth(jails: Any) -> None:
    shell(jails, "true")
    before = own(jails)
    with echo(jails, QUICK) as talk:
        for number in range(20):
            talk.send(b"word %d" % number)
            assert talk.receive(100, 20) == b"WORD %d" % number
        assert jails.live >= 1
        talk.send(b"die")
        assert talk.receive(100, 20) is None
        assert talk.receive(100, 20) is None
        result = talk.finish()
    assert (result.status, result.exit_code) == (JailStatus.exit, 7)
    assert talk.finish() == result
    with pytest.raises(BrokenPipeError):
        talk.send(b"more")
    assert talk.receive(100, 20) is None
    assert came(lambda: jails.live == 0)
    assert came(lambda: own(jails) == before)


def test_a_conversation_carries_many_bytes(jails: Any) -> None:
    body, heard = b"abcdefgh" * 100_000, b""
    with echo(jails, QUICK) as talk, ThreadPoolExecutor(1) as pool:
        sending = pool.submit(talk.send, body)
        while len(heard) < len(body):
            heard += talk.receive(65536, 20)
        sending.result()
    assert heard == body.upper()


def test_what_a_jail_said_before_it_ended_can_still_be_heard(jails: Any) -> None:
    talk = jails.open(["sh", "-c", "printf last >&6; exit 4"], QUICK)
    time.sleep(0.5)
    assert talk.receive(100, 20) == b"last"
    assert talk.receive(100, 20) is None
    assert talk.finish().exit_code == 4


def test_output_of_a_conversation_comes_with_its_result(jails: Any) -> None:
    with jails.open(["sh", "-c", "echo out; echo err >&2; printf x >&6"], QUICK) as talk:
        assert talk.receive(100, 20) == b"x"
        assert talk.receive(100, 20) is None
        result = talk.finish()
    assert (result.status, result.stdout, result.stderr) == (JailStatus.ok, b"out\n", b"err\n")


def test_a_silent_peer_times_out_and_is_stopped_at_the_end(jails: Any) -> None:
    with echo(jails, QUICK) as talk:
        talk.send(b"hang")
        with pytest.raises(TimeoutError):
            talk.receive(100, 0.2)
        result = talk.finish()
    assert (result.status, result.detail) == (JailStatus.signal, "stopped by its caller")


def test_a_conversation_is_killed_at_its_limits(jails: Any) -> None:
    with jails.open(["sh", "-c", f"sleep {MARK} & sleep {MARK}"], BRIEF) as talk:
        assert talk.receive(100, 20) is None
        with pytest.raises(BrokenPipeError):
            talk.send(bytes(4 << 20))
        assert talk.finish().status is JailStatus.timeout_wall
    assert sleepers(MARK) == []
    with echo(jails, Policy(Limits(memory_mb=64))) as talk:
        talk.send(b"hog")
        assert talk.receive(100, 20) is None
        result = talk.finish()
        assert result.status is JailStatus.memory or result.limits == "reduced"


def test_a_peer_that_never_reads_cannot_block_us_past_its_limit(jails: Any) -> None:
    with jails.open(["sleep", MARK], BRIEF) as talk:
        with pytest.raises(BrokenPipeError):
            talk.send(bytes(4 << 20))
        assert talk.finish().status is JailStatus.timeout_wall


def test_an_abandoned_conversation_leaves_nothing(jails: Any) -> None:
    shell(jails, "true")
    before = own(jails)
    with pytest.raises(ZeroDivisionError), jails.open(["sh", "-c", f"sleep {MARK} & sleep {MARK}"], QUICK):
        assert came(lambda: len(sleepers(MARK)) == 2)
        raise ZeroDivisionError
    assert sleepers(MARK) == []
    assert own(jails) == before
    assert came(lambda: jails.live == 0)


def test_more_input_than_a_jail_takes_is_a_usage_error(jails: Any) -> None:
    with pytest.raises(UsageError, match="64 MiB of stdin"):
        jails.run(["true"], QUICK, stdin=bytes((64 << 20) + 1))
    with pytest.raises(UsageError, match="no text"):
        jails.run(["true"], Policy(env=(("ODD", "\ud800"),)))


def test_an_audit_says_what_a_command_did(jails: Any) -> None:
    source = "import os; os.write(1, b'out' + os.read(0, 9)); open('/job/x').read(); open('/etc/new', 'w')"
    result, report = jails.audit(["python3", "-c", source], QUICK, files={"x": b"file"}, stdin=b"in")
    assert (result.status, result.exit_code, result.stdout) == (JailStatus.exit, 1, b"outin")
    assert report.complete
    assert "/job/x" in {item.path for item in report.opened}
    assert ("/etc/new", "EROFS") in {(item.path, item.result) for item in report.changed}
    assert [item.status for item in report.ended] == [1]
    with pytest.raises(UsageError):
        jails.audit([], QUICK)


def test_audits_at_the_same_time_leave_each_other_alone(jails: Any) -> None:
    def one(number: int) -> Any:
        return jails.audit(["sh", "-c", f"for n in 1 2 3; do no-such-program; done; cat /job/n; exit {number}"], QUICK,
                           files={"n": b"%d" % number})  # fmt: skip

    with ThreadPoolExecutor(4) as crowd:
        for number, (result, report) in enumerate(crowd.map(one, range(12))):
            assert result.stdout == b"%d" % number
            assert report.complete, report.trouble
            assert all(item.program for item in report.ended)


def test_an_audit_and_other_jails_leave_each_other_alone(jails: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        audited = pool.submit(jails.audit, ["sh", "-c", "sleep 1; echo whole"], QUICK)
        while not audited.done():
            assert shell(jails, "echo other").stdout == b"other\n"
        result, report = audited.result()
    assert (result.status, result.stdout, report.complete) == (JailStatus.ok, b"whole\n", True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_closing_ends_everything(variant: str, home: Path) -> None:
    """What ran is held against nobody, and nobody who asks for it gets an error."""
    with VARIANTS[variant](home) as jails:
        command, policy = ["sh", "-c", f"echo partial; sleep {MARK}"], Policy(Limits(wall_s=60))
        talk, ended = jails.open(command, policy), jails.open(["sh", "-c", "exit 3"], policy)
        assert came(lambda: ended._at_end or ended.receive(1, 20) is None)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(jails.run, command, policy)
            assert came(lambda: len(sleepers(MARK)) == 2)
            jails.close()
            results = [running.result()]
        assert talk.receive(100, 20) is None
        results.append(talk.finish())
        assert talk.finish() == results[1]
        for result in results:
            assert (result.status, result.detail) == (JailStatus.infra, CLOSED)
            assert (result.stdout, result.exit_code, result.signal) == (b"partial\n", None, None)
        assert ended.finish().exit_code == 3
        assert sleepers(MARK) == []
        assert came(lambda: jails.live == 0)
        assert shell(jails, "echo again").stdout == b"again\n"


@pytest.mark.parametrize("variant", ["direct", "remote"])
def test_a_conversation_ends_with_its_block_when_its_client_was_closed_in_it(
    variant: str, home: Path
) -> None:
    with VARIANTS[variant](home) as jails, jails.open(["sleep", MARK], QUICK) as talk:
        jails.close()
    assert talk.finish().status is JailStatus.infra


@dataclass(frozen=True)
class Case:
    """One command whose result must not depend on the way it was run."""

    name: str
    command: list[str]
    policy: Policy = QUICK
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""


CASES = [
    Case("ok", ["echo", "ok"]),
    Case("exit", ["sh", "-c", "echo err >&2; exit 5"]),
    Case("signal", ["sh", "-c", "kill -SEGV $$"]),
    Case("init", ["sh", "-c", "kill -9 -1; sleep 0.1; echo alive"]),
    Case("missing", ["no-such-program"]),
    Case("refused", ["/job/x"], files={"x": b"no program"}),
    Case("wall", ["sleep", "60"], BRIEF),
    Case("cpu", ["sh", "-c", "while :; do :; done"], Policy(Limits(cpu_s=0.3))),
    Case("output", ["yes"], Policy(Limits(output_kb=8))),
    Case(
        "disk",
        ["dd", "if=/dev/zero", "of=/work/x", "bs=1M", "count=8", "status=none"],
        Policy(Limits(disk_mb=2)),
    ),
    Case("stdin", ["cat"], stdin=b"\0\xff"),
    Case("environment", ["env"], Policy(env=(("A", "b c"), ("PATH", "/bin")))),
    Case("identity", ["sh", "-c", "id; pwd; umask; hostname; ulimit -a; cat /proc/self/cgroup | wc -l"]),
    Case("descriptors", ["sh", "-c", "ls /proc/self/fd; stat -c '%A %u %g %n' /work /job /tmp /dev/shm /"]),
    Case("mounts", ["sh", "-c", "cut -d ' ' -f 5 /proc/self/mountinfo | sort -u"]),
    Case("status", ["grep", "-E", "Sig(Blk|Cgt)|Cap|NoNewPrivs|Seccomp:", "/proc/self/status"]),
    # The lower 28 only: libc's posix_spawn ignores two that it keeps for itself, a fork does not.
    Case("ignored", ["sh", "-c", "grep SigIgn /proc/self/status | tail -c 8"]),
    Case(
        "processes",
        ["sh", "-c", "ls /proc | grep -c '^[0-9]'; cat /proc/1/comm; ls /sys /dev; cat /proc/net/dev"],
    ),
]


def outcome(jails: Any, case: Case) -> dict[str, object]:
    result = jails.run(case.command, case.policy, files=case.files, stdin=case.stdin)
    names = ("status", "exit_code", "signal", "stdout", "stderr", "limits", "detail")
    return {name: getattr(result, name) for name in names}


@pytest.fixture(scope="module")
def outcomes(home: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Variant to case to what came back."""
    found = {}
    for variant, opened in VARIANTS.items():
        with opened(home) as jails:
            found[variant] = {case.name: outcome(jails, case) for case in CASES}
    return found


@pytest.mark.parametrize("case", [case.name for case in CASES])
def test_results_are_equal_across_variants(
    outcomes: dict[str, dict[str, dict[str, object]]], case: str
) -> None:
    first, *others = outcomes
    for other in others:
        assert outcomes[other][case] == outcomes[first][case], f"{other} is unlike {first}"


def test_paths_are_what_the_jailer_computes(home: Path) -> None:
    assert from_environment({"APPLIANCE_HOME": str(home)}) == Paths(home / "data", home / "cache")
