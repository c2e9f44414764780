"""Runs a command under trace and reports what it and everything below it did. A separate, optional program.

    python -m appliance.sandbox.audit [--report FD] [--level N] [--work DIR] [--join FILE]... -- COMMAND...

Argument pointers can change: observe, never decide. What is reported of a call's arguments was read before the
kernel read it, and another thread may have changed it in between; no verdict may rest on it. Blind spots: calls
through io_uring, mappings, and children cloned with CLONE_UNTRACED, whose makers are reported (`untraced`).

This is the only file that imports python-ptrace, which is GPL-2.0-only. Nothing of ours imports it; it is started as
a program and talks through one descriptor. It needs Linux 5.3 or later.

The report is JSON, one object a line: a record when something is first seen, so that a killed audit has still told;
at the end `{"kind": "count", "line": N, "count": M}` for each record N seen more than once, and `end`. A line that is
not JSON says what went wrong here. `--level` is how many forks lie between the command and what is to be reported,
which begins with that process's first exec: 2 for a jail (nsjail, its init, the payload).

This process itself becomes the command, so that signals and the exit status need no relay, after it has joined the
cgroups that `--join` names; the tracer is a process beside it, in no cgroup of the command's, which ends when nothing
is left to trace. When the tracer is killed, so is all that it traces.
"""

# ruff: noqa: PTH100, PTH109, PTH123
from __future__ import annotations

import argparse
import ctypes
import errno
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from appliance.sandbox.audit_calls import (
    CHANGES,
    EXECS,
    OPENS,
    Call,
    address_of,
    begun,
    relatives,
    seen_as,
    shown,
)
from appliance.sandbox.audit_report import Report

try:
    from ptrace import PtraceError
    from ptrace.binding import func as binding
    from ptrace.syscall.names import SYSCALL_NAMES
except ImportError as missing:
    raise SystemExit("python-ptrace is missing: pip install 'post-training-appliance[audit]'") from missing


# What python-ptrace does not bind.
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_LISTEN, PTRACE_GET_SYSCALL_INFO = 0x4206, 0x4207, 0x4208, 0x420E
PTRACE_O_EXITKILL = 0x10_0000
PTRACE_EVENT_STOP = 128
ENTRY, EXIT = 1, 2
WALL = 0x4000_0000
TICK_S = 0.001
CLONE_UNTRACED = 0x80_0000
PR_SET_PTRACER = 0x5961_6D61
FIRST_RESTART = 512
"""From here up, error numbers are the kernel's own: the call will be made again."""
NATIVE = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}

OPTIONS = (
    binding.PTRACE_O_TRACESYSGOOD
    | binding.PTRACE_O_TRACEFORK
    | binding.PTRACE_O_TRACEVFORK
    | binding.PTRACE_O_TRACECLONE
    | binding.PTRACE_O_TRACEEXEC
    | PTRACE_O_EXITKILL
)
BIRTHS = (binding.PTRACE_EVENT_FORK, binding.PTRACE_EVENT_VFORK, binding.PTRACE_EVENT_CLONE)
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
DENIALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.EAFNOSUPPORT)
HARMLESS = (b"/dev/null", b"/dev/tty")
FIRST_NEWER = 441
NEWER = (
    "epoll_pwait2", "mount_setattr", "quotactl_fd", "landlock_create_ruleset", "landlock_add_rule",
    "landlock_restrict_self", "memfd_secret", "process_mrelease", "futex_waitv", "set_mempolicy_home_node",
    "cachestat", "fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait", "futex_requeue", "statmount",
    "listmount", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
)  # fmt: skip
"""Calls that python-ptrace 0.9.9 does not know; these numbers are the same on every architecture."""


class SyscallInfo(ctypes.Structure):
    """struct ptrace_syscall_info; at an exit the union holds the result and whether it is an error."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("at", ctypes.c_uint64 * 2),
        ("words", ctypes.c_uint64 * 8),
    )


@dataclass(slots=True)
class Task:
    """A thread under trace."""

    process: int
    depth: int
    watched: bool = False
    program: str = ""
    call: Call | None = None


class Tracer:
    """Follows one command and everything that it starts."""

    def __init__(self, root: int, level: int, work: bytes, report: Report) -> None:
        self._root, self._level, self._work, self._report = root, level, work, report
        self._root_ended = False
        self._tasks = {root: Task(root, 0)}
        self._arch = NATIVE.get(os.uname().machine)

    def run(self) -> None:
        """Trace until nothing is left, and end the report before anybody can know that the command has ended."""
        while found := self._next():
            tid, status = found
            try:
                self._attend(tid, status)
            except PtraceError as error:
                # Killed while we looked at it: its end is reported next.
                if error.errno != errno.ESRCH:
                    raise

    def _next(self) -> tuple[int, int] | None:
        """What happened to whom; None when only the command itself is left, and dead.

        Its parent is not told of that before we have reaped it: whoever waits for the command may then end us.
        """
        if not self._root_ended:
            seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOWAIT | WALL)
            assert seen is not None
            ended = seen.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)
            if seen.si_pid != self._root or not ended:
                return os.waitpid(seen.si_pid, WALL)
            self._root_ended = True
            code = seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
            self._note_end(self._root, self._tasks[self._root], code)
        return self._next_other()

    def _next_other(self) -> tuple[int, int] | None:
        while others := self._tasks.keys() - {self._root}:
            for tid in others:
                try:
                    found = os.waitpid(tid, os.WNOHANG | WALL)
                except ChildProcessError:
                    del self._tasks[tid]
                    continue
                if found[0]:
                    return found
            time.sleep(TICK_S)
        return None

    def _attend(self, tid: int, status: int) -> None:
        task = self._tasks.get(tid) or self._meet(tid)
        if not os.WIFSTOPPED(status):
            self._bury(tid, task, status)
            return
        number, event, passed = os.WSTOPSIG(status), status >> 16, 0
        if number == signal.SIGTRAP | 0x80:
            self._observe(tid, task)
        elif event == PTRACE_EVENT_STOP and number in STOPS:
            binding.ptrace(PTRACE_LISTEN, tid)
            return
        elif event in BIRTHS:
            self._adopt(message(tid), task)
        elif event == binding.PTRACE_EVENT_EXEC:
            task = self._replace(tid, message(tid))
        elif event == 0:
            passed = number
        seen = task.watched or task.depth >= self._level
        binding.ptrace(binding.PTRACE_SYSCALL if seen else binding.PTRACE_CONT, tid, 0, passed)

    def _meet(self, tid: int) -> Task:
        """A thread whose maker has not told us of it yet: go by what the kernel says is its parent."""
        process, parent = relatives(tid) or (tid, 0)
        maker = self._tasks.get(parent if process == tid else process)
        if maker is None:
            maker = Task(0, self._level - 1)
        task = Task(process, maker.depth + (process == tid), maker.watched, maker.program)
        self._tasks[tid] = task
        return task

    def _adopt(self, tid: int, maker: Task) -> None:
        if found := relatives(tid):
            task = self._tasks.setdefault(tid, Task(found[0], 0))
            task.depth = maker.depth + (task.process != maker.process)
            task.watched, task.program = task.watched or maker.watched, task.program or maker.program

    def _replace(self, tid: int, former: int) -> Task:
        """After an exec the thread that called it has its process's number, and its other threads are gone."""
        if former != tid and former in self._tasks:
            self._tasks[tid] = self._tasks.pop(former)
        return self._tasks[tid]

    def _bury(self, tid: int, task: Task, status: int) -> None:
        self._tasks.pop(tid, None)
        self._note_end(tid, task, os.waitstatus_to_exitcode(status))

    def _note_end(self, tid: int, task: Task, code: int) -> None:
        # What never became a program looked for one along PATH.
        if task.watched and task.program and tid == task.process:
            self._report.note("exit", pid=tid, program=task.program, status=code)

    def _observe(self, tid: int, task: Task) -> None:
        info = SyscallInfo()
        binding.ptrace(PTRACE_GET_SYSCALL_INFO, tid, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == ENTRY:
            name = self._name(info.arch, info.words[0])
            task.call = begun(tid, name, info.words[1:7])
            task.watched |= name in EXECS
        elif info.op == EXIT and task.call is not None:
            call, task.call = task.call, None
            result = ctypes.c_int64(info.words[0]).value
            # The flag is one byte; what lies behind it in the word is not the kernel's.
            failed = info.words[1] & 0xFF
            if task.watched and not (failed and -result >= FIRST_RESTART):
                self._leave(tid, task, call, -result if failed else 0, result)

    def _name(self, arch: int, number: int) -> str:
        if arch != self._arch:
            return f"foreign call {arch:#x} {number}"
        if FIRST_NEWER <= number < FIRST_NEWER + len(NEWER):
            return NEWER[number - FIRST_NEWER]
        return str(SYSCALL_NAMES.get(number, f"call {number}"))

    def _leave(self, tid: int, task: Task, call: Call, error: int, result: int) -> None:
        """Report a call that has ended."""
        said = errno.errorcode.get(error, str(error)) if error else "ok"
        if error in DENIALS:
            self._report.note("denied", call=call.name, error=said)
        if call.name in OPENS:
            self._report_open(tid, call, said, result)
        elif call.name in EXECS:
            path = shown(call.places[0])
            task.program = task.program if error else path
            self._report.note("exec", path=path, result=said)
        elif call.name in CHANGES:
            self._report_changes(call.name, call.places, said)
        elif call.address:
            family, address = address_of(call.address)
            self._report.note("connect", call=call.name, family=family, address=address, result=said)
        elif call.flags & CLONE_UNTRACED and not error:
            self._report.note("untraced", call=call.name)

    def _report_open(self, tid: int, call: Call, said: str, result: int) -> None:
        (place,) = call.places
        # The kernel's word for what was opened, links followed.
        real = seen_as(tid, f"/proc/{tid}/fd/{result}") if said == "ok" else place
        how = call.flags & os.O_ACCMODE
        access = {os.O_RDONLY: "read", os.O_WRONLY: "write"}.get(how, "both")
        if call.flags & os.O_PATH:
            access = "path"
        creates = access != "path" and bool(call.flags & (os.O_CREAT | os.O_TRUNC))
        fields = {"path": shown(place), "real": shown(real), "access": access, "creates": creates}
        self._report.note("open", **fields, result=said)
        if access in ("write", "both") or creates:
            self._report_changes(call.name, (real,), said)

    def _report_changes(self, name: str, places: Sequence[bytes], said: str) -> None:
        for place in places:
            inside = place == self._work or place.startswith(self._work + b"/")
            # What is not a path is a pipe or a socket.
            if not inside and place[:1] in (b"/", b"?") and place not in HARMLESS:
                self._report.note("change", call=name, path=shown(place), result=said)


def message(tid: int) -> int:
    """What an event is about. (The library's own call lets the kernel write 8 bytes into 4.)"""
    word = ctypes.c_ulong()
    binding.ptrace(binding.PTRACE_GETEVENTMSG, tid, 0, ctypes.addressof(word))
    return word.value


def start_tracer(wanted: Any) -> socket.socket:
    """Fork the tracer of this process; not as its child when the command might wait for one that it did not make.

    nsjail does not wait for a child that it does not know, and a tracer without a parent would fall to the launcher of
    jails, which ends what falls to it.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        if not wanted.level and os.fork() != 0:
            os._exit(0)
        ours.close()
        trace(wanted, theirs)
    if not wanted.level:
        os.waitpid(child, 0)
    theirs.close()
    return ours


def trace(wanted: Any, line: socket.socket) -> NoReturn:
    """In the tracer: take hold of the command, let it go on, and follow it to its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A fault of ours goes into the report; nothing is held that the command's readers wait for the end of.
    os.dup2(wanted.report, 2)
    line.send(b"%d" % os.getpid())
    pid = int(line.recv(16))
    binding.ptrace(PTRACE_SEIZE, pid, 0, OPTIONS)
    binding.ptrace(PTRACE_INTERRUPT, pid)
    line.send(b"traced")
    line.detach()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.closerange(3, 1 << 16)
    report = Report(2)
    Tracer(pid, wanted.level, os.path.abspath(os.fsencode(wanted.work or os.getcwd())), report).run()
    report.end()
    sys.exit(0)


def be_traced(line: socket.socket) -> None:
    """Name this process to its tracer, and wait until that has hold of it."""
    tracer = int(line.recv(16) or 0)
    # Where the kernel lets only ancestors trace, the traced one may name another.
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, tracer, 0, 0, 0)
    line.send(b"%d" % os.getpid())
    if not line.recv(16):
        raise OSError(errno.EPERM, "the command cannot be traced")


def become(wanted: Any, line: socket.socket) -> NoReturn:
    """Into the cgroup, under trace, and be the command."""
    try:
        for path in wanted.join:
            with open(path, "w") as file:
                file.write("0")
        # What Python ignores for itself would stay ignored.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        be_traced(line)
        if wanted.report > 2:
            os.set_inheritable(wanted.report, False)
        os.execvp(wanted.command[0], wanted.command)
    except OSError as error:
        os.write(wanted.report, f"cannot start the command: {error}\n".encode("ascii", "backslashreplace"))
    finally:
        os._exit(127)


def parsed(words: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(
        prog="appliance.sandbox.audit", description="Trace a command; report as JSON."
    )
    parser.add_argument("--report", type=int, default=2, metavar="FD", help="for the report (default: 2)")
    parser.add_argument("--level", type=int, default=0, help="forks between the command and what to report")
    parser.add_argument("--work", default="", help="changes below this folder are not reported")
    parser.add_argument(
        "--join", action="append", default=[], help="a cgroup.procs, or tasks, that the command goes into"
    )
    parser.add_argument("command", nargs="+")
    return parser.parse_args(list(words))


def main(words: Sequence[str]) -> NoReturn:
    wanted = parsed(words)
    become(wanted, start_tracer(wanted))


if __name__ == "__main__":
    main(sys.argv[1:])
