"""The jail's process 1: takes an order, starts the command, reaps everything, reports how the command ended.

Run inside the jail as `python3 -I -S init.py CONTROL` from an interpreter that may be executed but not read, which
makes the kernel keep other processes out of it (no ptrace, no /proc/1/fd). It imports only modules built into the
interpreter. It trusts nothing the command does: its own descriptor is closed for it, signals from inside a process
namespace do not reach its process 1 without a handler, and after its report it ends, which ends every process left.

CONTROL is a socket that keeps messages apart. An order is NUL-separated: 32 random bytes in hex, limits of each
process as `NAME=NUMBER` words, the count of variables, the variables, the command. What it writes is text: `R` when
ready for an order, `S` before the command starts, then either `E errno` or `X status cpu_ticks full`, and with
that no process but this one is left.
"""

import _signal  # type: ignore[import-not-found]
import posix

ORDER_BYTES = 256 * 1024
PLACES = ["/work", "/tmp", "/dev/shm"]
RESET = (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ)
"""What Python changes at start-up, for itself and, where ignored, for the command."""


class Order:
    """What to run. Plain, because dataclasses are not built in."""

    def __init__(self, message: bytes) -> None:
        seed, limits, count, *rest = [
            part.decode("utf-8", "surrogateescape") for part in message.split(b"\0")
        ]
        self.seed = bytes.fromhex(seed)
        self.limits = {name: int(number) for name, number in (word.split("=") for word in limits.split())}
        self.environment = dict(pair.split("=", 1) for pair in rest[: int(count)])
        self.command = rest[int(count) :]


def candidates(order: Order) -> list[str]:
    """Where execvp(3) would look for the command."""
    name = order.command[0]
    if "/" in name:
        return [name]
    return [f"{folder}/{name}" for folder in order.environment.get("PATH", "/usr/bin:/bin").split(":")]


def start(message: bytes) -> int:
    """Start the command as execvp(3) would; return its pid, or raise the most telling error."""
    order = Order(message)
    refused: OSError = FileNotFoundError(2, "not found")
    for path in candidates(order):
        try:
            return posix.posix_spawn(path, order.command, order.environment, setsigdef=RESET, setsid=True)
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


def end_rest() -> None:
    """Kill and reap everything that is left: after this only we are here."""
    while True:
        try:  # noqa: SIM105 - contextlib is not built in
            posix.kill(-1, 9)
        except ProcessLookupError:
            pass
        try:
            posix.wait()
        except ChildProcessError:
            return


def is_full(path: str) -> bool:
    """Whether a file system has no free page or no free inode left."""
    found = posix.statvfs(path)
    return found.f_bfree == 0 or found.f_ffree == 0


def with_room() -> list[str]:
    """Where a command can still write: what was full before it is none of its doing."""
    return [path for path in PLACES if not is_full(path)]


def ending(status: int, places: list[str]) -> bytes:
    """The report of a command that ran. `places`: those that had room at its start."""
    spent = posix.times()
    ticks = round((spent.children_user + spent.children_system) * 100)
    return b"X %d %d %d\n" % (status, ticks, any(map(is_full, places)))


def serve(control: int, start=start) -> None:  # type: ignore[no-untyped-def]
    """Run one order; return without one when the other end is closed."""
    posix.write(control, b"R\n")
    message = posix.read(control, ORDER_BYTES)
    if not message:
        return
    posix.write(control, b"S\n")
    try:
        pid = start(message)
    except OSError as error:
        posix.write(control, b"E %d\n" % (error.errno or 0))
        return
    # A jail of one order begins empty.
    status = wait_for(pid)
    end_rest()
    posix.write(control, ending(status, PLACES))


def main(arguments: list[str]) -> None:
    control = int(arguments[0])
    posix.set_inheritable(control, False)
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    serve(control)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
