"""The jail's process 1: starts the command, reaps everything, reports how the command ended.

Run inside the jail as `python3 -I -S init.py RECORD COUNT NAME=VALUE... COMMAND...` from an interpreter that may be
executed but not read, which makes the kernel keep other processes out of it (no ptrace, no /proc/1/fd). It imports
only modules built into the interpreter. It trusts nothing the command does: its own descriptor is closed on exec,
signals from inside a process namespace do not reach its process 1 without a handler, and after its report it ends,
which ends every process left.

The report is text: `S` before the command starts, then either `E errno` or `X status cpu_ticks full`.
"""

import _signal  # type: ignore[import-not-found]
import posix

PLACES = ("/work", "/tmp", "/dev/shm")
RESET = (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ)
"""What Python changes at start-up, for itself and, where ignored, for the command."""


def start(command: list[str], environment: dict[str, str]) -> int:
    """Start the command as execvp(3) would; return its pid, or raise the most telling error."""
    name = command[0]
    folders = [""] if "/" in name else environment.get("PATH", "/usr/bin:/bin").split(":")
    refused: OSError = FileNotFoundError(2, "not found")
    for folder in folders:
        path = f"{folder}/{name}" if folder else name
        try:
            return posix.posix_spawn(path, command, environment, setsigdef=RESET, setsid=True)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = error
    raise refused


def wait_for(pid: int) -> int:
    """Reap whatever ends until `pid` does; return its status."""
    while True:
        ended, status = posix.wait()
        if ended == pid:
            return status


def is_full(path: str) -> bool:
    """Whether a file system has no free page or no free inode left."""
    found = posix.statvfs(path)
    return found.f_bfree == 0 or found.f_ffree == 0


def main(arguments: list[str]) -> None:
    record, count = int(arguments[0]), int(arguments[1])
    environment = dict(pair.split("=", 1) for pair in arguments[2 : 2 + count])
    command = arguments[2 + count :]
    posix.set_inheritable(record, False)
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    posix.write(record, b"S\n")
    try:
        pid = start(command, environment)
    except OSError as error:
        posix.write(record, b"E %d\n" % (error.errno or 0))
        return
    status = wait_for(pid)
    ticks = round((posix.times().children_user + posix.times().children_system) * 100)
    posix.write(record, b"X %d %d %d\n" % (status, ticks, any(is_full(path) for path in PLACES)))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
