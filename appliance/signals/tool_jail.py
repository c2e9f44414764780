"""Running a tool on hostile files: in a jail of its own, with our arguments, under names that we chose.

A tool that breaks on what it is given has not found it clean: what went wrong is said, and whoever asked decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from appliance.errors import IntegrityError, NotFoundError, SandboxError
from appliance.examination import Opener
from appliance.sandbox.client import JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy

LIMITS = Limits(memory_mb=1024, pids=32, cpu_s=10.0, wall_s=120.0, disk_mb=64, inodes=8192, output_kb=8192)
"""What a hostile source may cost; an ordinary one takes a fiftieth."""
_BACKSTOP_S = 60.0
_FOLDER = "source"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a tool said."""

    stdout: bytes
    trouble: str = ""
    """Why nothing can be concluded from it; empty when it ran as it should."""


def run_tool(
    jails: Opener,
    command: Sequence[str],
    files: Mapping[str, bytes],
    *,
    exits: tuple[int, ...] = (0,),
    env: tuple[tuple[str, str], ...] = (),
) -> Ran:
    """Run a command to its end. `exits`: the codes it ends with when all is well. SandboxError when the host failed."""
    result = _ended(jails, command, Policy(LIMITS, env=env), files)
    if result.status in (JailStatus.infra, JailStatus.timeout_wall):
        # No source makes a tool wait: one that does not get its CPU time is on a host that is too busy.
        raise SandboxError(f"{command[0]} could not be run in a jail: {result.status} {result.detail}")
    if result.status in (JailStatus.ok, JailStatus.exit) and result.exit_code in exits:
        return Ran(result.stdout)
    said = result.stderr[-200:].decode(errors="replace").strip() or result.detail
    return Ran(result.stdout, f"{result.status} {result.exit_code}: {said}")


def _ended(jails: Opener, command: Sequence[str], policy: Policy, files: Mapping[str, bytes]) -> JailResult:
    try:
        opened = jails.open(command, policy, files=files)
    except (NotFoundError, IntegrityError) as error:
        raise SandboxError(
            f"the image of the judge's tools: {error.message}",
            remedy="make it, as the user that starts the jails: appliance image build --tools",
        ) from error
    with opened as conversation:
        try:
            # Nobody answers: the end of the jail is the end of the wait.
            conversation.receive(1, LIMITS.wall_s + _BACKSTOP_S)
        except TimeoutError:
            raise SandboxError(f"a jail that runs {command[0]} was not ended at its wall limit") from None
        return conversation.finish()


def parsed(ran: Ran) -> Any:
    """What a tool printed as JSON; None when it is none."""
    try:
        return json.loads(ran.stdout)
    except (ValueError, RecursionError):
        return None


def plainly_named(files: Mapping[str, bytes]) -> dict[str, str]:
    """A name of ours for each file, with its own: no tool sees a folder, a suffix or an option that a candidate chose.

    What a file name means to Python itself is kept: a package's own module, and a stub.
    """
    found = {}
    for index, name in enumerate(sorted(files)):
        path = PurePosixPath(name)
        base = path.name if path.name == "__init__.py" else f"module{path.suffix}"
        found[f"{_FOLDER}/n{index:05d}/{base}"] = name
    return found
