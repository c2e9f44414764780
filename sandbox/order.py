"""What to run in a jail: checked once, and put into the words the jail's init reads."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.errors import UsageError
from appliance.sandbox.image import Image
from appliance.sandbox.job import MAX_BYTES, check_files
from appliance.sandbox.nsjail import CHANNEL_READ_FD, CHANNEL_WRITE_FD, WORK
from appliance.sandbox.policy import CHANNEL_VARIABLE, MAX_OPEN_FILES, Limits, Policy, open_files

MAX_COMMAND_BYTES = 96 * 1024
SEED_BYTES = 32
ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONDONTWRITEBYTECODE": "1",
    # The host's processor count is visible; its processors are not the jail's to fill.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, checked."""

    command: tuple[str, ...]
    policy: Policy
    files: Mapping[str, bytes]
    stdin: bytes = b""


def order(
    command: Sequence[str], policy: Policy, files: Mapping[str, bytes] | None, stdin: bytes = b""
) -> Order:
    """Check what a caller wants run; UsageError when it cannot be."""
    if isinstance(command, str) or not command or not command[0]:
        raise UsageError("the command is empty, or a string where a list of arguments belongs")
    if not all(isinstance(part, str) for part in command) or not isinstance(stdin, bytes):
        raise UsageError("an argument that is no text, or an input that is no bytes")
    if any("\0" in part for part in command):
        raise UsageError("an argument holds a NUL character")
    variables = [f"{name}={value}" for name, value in policy.env]
    if sum(_size(part) + 1 for part in (*command, *variables)) > MAX_COMMAND_BYTES:
        raise UsageError(
            f"command and environment exceed {MAX_COMMAND_BYTES} bytes", remedy="pass large input as a file"
        )
    if len(stdin) > MAX_BYTES:
        raise UsageError(f"more than {MAX_BYTES >> 20} MiB of stdin for one jail")
    check_files(files or {})
    return Order(tuple(command), policy, dict(files or {}), stdin)


def _size(part: str) -> int:
    """In bytes, as the command will find it."""
    try:
        return len(os.fsencode(part))
    except UnicodeEncodeError as error:
        raise UsageError(f"an argument or a variable that is no text: {error.reason}") from error


def message(wanted: Order, image: Image, *, conversing: bool, enforced: bool, random: bytes) -> bytes:
    """The order as sandbox/init.py reads it. `random`: SEED_BYTES fresh ones, for this jail alone."""
    environment = {**ENVIRONMENT, "PATH": image.search_path, **dict(wanted.policy.env)}
    if conversing:
        environment[CHANNEL_VARIABLE] = f"{CHANNEL_READ_FD},{CHANNEL_WRITE_FD}"
    pairs = [f"{name}={value}" for name, value in environment.items()]
    limits = " ".join(
        f"{name}={number}" for name, number in process_limits(wanted.policy.limits, enforced).items()
    )
    words = [random.hex(), limits, str(len(pairs)), *pairs, *wanted.command]
    return b"\0".join(map(os.fsencode, words))


def process_limits(limits: Limits, enforced: bool) -> dict[str, int]:
    """Rlimits in the kernel's units. Without a cgroup they stand in for limits on the tree as well as they can."""
    table = {
        # A backstop behind the limit on the tree; the kernel counts whole seconds.
        "cpu": math.ceil(limits.cpu_s) + (1 if enforced else 0),
        "fsize": limits.disk_mb << 20,
        "nofile": open_files(MAX_OPEN_FILES),
    }
    return table if enforced else {**table, "as": limits.memory_mb << 20, "nproc": limits.pids + 2}
