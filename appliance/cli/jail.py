"""`appliance jail`: one command in a jail."""

from __future__ import annotations

import base64
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from appliance.clean import clean_bytes, clean_text
from appliance.cli import probe
from appliance.cli.numbers import FiniteRange
from appliance.errors import NotFoundError, UsageError
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.policy import (
    REDUCED_MEMORY_MB,
    SMALLEST_CPUS,
    Limits,
    Policy,
    bounds,
    check_processors,
    online,
)

F = TypeVar("F", bound=Callable[..., Any])
_DEFAULTS = Limits()
MAX_FILE_BYTES = 64 << 20
REDUCED_MEMORY = f"at least {REDUCED_MEMORY_MB} where limits are reduced."


def _limit(option: str, name: str, help: str) -> Callable[[F], F]:
    """An option for one limit, bounded as the policy bounds it, so that a refusal names the option."""
    default = getattr(_DEFAULTS, name)
    kind: Any = click.IntRange if isinstance(default, int) else FiniteRange
    return click.option(option, name, type=kind(*bounds(name)), default=default, show_default=True, help=help)


def _checked_cpus(context: click.Context, parameter: click.Parameter, cpus: float) -> float:
    if 0 < cpus < SMALLEST_CPUS:
        raise UsageError(
            f"--cpus {cpus:g} is below {SMALLEST_CPUS:g}, the least the kernel takes",
            remedy="give more, or 0 for no quota",
        )
    return cpus


def _checked_cpuset(context: click.Context, parameter: click.Parameter, cpuset: str | None) -> str:
    if cpuset == "":
        raise UsageError("--cpuset is empty", remedy=f"give a list of processors from {online()}")
    check_processors(cpuset or "", "--cpuset")
    return cpuset or ""


def _checked_env(
    context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--env {pair}: not NAME=VALUE", remedy="for example --env LANG=C")
    return tuple((name, value) for name, _, value in (pair.partition("=") for pair in pairs))


def _checked_image(context: click.Context, parameter: click.Parameter, image: str | None) -> str:
    if image == "":
        raise UsageError("--image is empty", remedy="give a name or a digest, or leave the option out")
    return image or ""


@click.group(name="jail")
def command() -> None:
    """Run commands in jails."""


@command.command("run", context_settings={"allow_interspersed_args": False})
@_limit("--memory-mb", "memory_mb", f"Memory of the whole tree, MiB; {REDUCED_MEMORY}")
@_limit("--pids", "pids", "Processes and threads at one time.")
@_limit("--seconds", "wall_s", "Limit of wall time, and of CPU time unless that is given.")
@click.option(
    "--cpu-seconds", "cpu_s", type=FiniteRange(*bounds("cpu_s")), help="CPU time of the whole tree."
)
@_limit("--disk-mb", "disk_mb", "Size of each of /work, /tmp, /dev/shm, MiB.")
@_limit("--inodes", "inodes", "Files and folders in each of the three.")
@_limit("--output-kb", "output_kb", "Output kept of each of stdout and stderr, KiB.")
@click.option(
    "--cpus",
    type=FiniteRange(*bounds("cpus")),
    default=0.0,
    callback=_checked_cpus,
    help="Processors' worth of time per second; 0 is no quota.",
)
@click.option("--cpuset", metavar="LIST", callback=_checked_cpuset, help="Processors to run on, such as 0-1.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", callback=_checked_env, help="A variable for CMD.")
@click.option("--file", "files", multiple=True, metavar="HOST:NAME", help="Put HOST read-only at /job/NAME.")
@click.option(
    "--image",
    metavar="NAME|DIGEST",
    callback=_checked_image,
    help="Start from this image of `appliance image list`.",
)
@click.option("--strict", is_flag=True, help="Refuse to run where limits would be reduced.")
@click.option("--audit", "audit", is_flag=True, help="Trace CMD and say what it did; many times slower.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def run(
    context: click.Context,
    /,
    cpu_s: float | None,
    env: tuple[tuple[str, str], ...],
    files: tuple[str, ...],
    image: str,
    strict: bool,
    audit: bool,
    as_json: bool,
    command: tuple[str, ...],
    **limits: Any,
) -> None:
    """Run CMD in a fresh jail: no network, private /work, /tmp and /dev/shm, nothing of the host to write to.

    Its status is one of ok, exit, signal, timeout_cpu, timeout_wall, memory, output, processes, disk, denied, infra.
    The exit code is 0 for every status but infra, which is the host's failure and gives 1. A limit decides the
    status only when it made the command fail: one that was met and survived is ok. One busy thread may meet
    either of the two time limits first.

    What is on stdin, unless it is a terminal, is read to its end (64 MiB at most) and given to CMD: in a script,
    write `</dev/null` where CMD is to get nothing.

    Where there are no cgroups (limits: reduced), memory and CPU time bound each process by itself: CMD may use up
    to --pids times as much, and --cpus and --cpuset are refused.

    In JSON, stdout and stderr are text; where the bytes are not UTF-8 they are shown with \\xNN escapes, and
    stdout_base64 or stderr_base64 holds them exactly. Both are capped.

    With --audit (needs the extra `audit`), `audit` holds what CMD and its children did: files opened, addresses used,
    programs started, calls refused, changes outside /work, and how each process ended. It was read from memory that
    CMD controls: it is evidence, not proof.
    """
    from appliance.paths import from_environment
    from appliance.sandbox.auditing import describe as describe_audit
    from appliance.sandbox.client import Jails

    own = Limits(cpu_s=limits["wall_s"] if cpu_s is None else cpu_s, **limits)
    policy, contents, report = Policy(own, env, strict=strict), _contents(files), None
    stdin = _stdin()
    with Jails(from_environment(os.environ), image=image) as jails:
        if audit:
            result, report = jails.audit(command, policy, files=contents, stdin=stdin)
        else:
            result = jails.run(command, policy, files=contents, stdin=stdin)
    if as_json:
        click.echo(json.dumps(to_json(result) | ({"audit": report.to_json()} if report else {})))
    else:
        click.echo("\n".join([describe(result), *([describe_audit(report)] if report else [])]))
    if result.status is JailStatus.infra:
        context.exit(1)


command.add_command(probe.command)


def _stdin() -> bytes:
    """What somebody piped in; nothing from a terminal, or where there is no stdin."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    body = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(body) > MAX_FILE_BYTES:
        raise UsageError(
            f"stdin is larger than {MAX_FILE_BYTES >> 20} MiB, the most a jail is given",
            remedy="pipe in less",
        )
    return body


def _contents(files: tuple[str, ...]) -> dict[str, bytes]:
    """Name to bytes; a name that is given twice would silently lose a file."""
    contents: dict[str, bytes] = {}
    for name, body in map(_read_file, files):
        if name in contents:
            raise UsageError(f"--file: the name {name} is given twice", remedy="give every file its own name")
        contents[name] = body
    return contents


def _read_file(spec: str) -> tuple[str, bytes]:
    host, colon, name = spec.rpartition(":")
    if not colon or not host or not name:
        raise UsageError(
            f"--file {spec}: not HOST:NAME", remedy="for example --file ./solution.py:solution.py"
        )
    try:
        if not Path(host).is_file():
            raise OSError(errno.ENOENT, "no such file, or not a regular one")
        if Path(host).stat().st_size > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, f"larger than {MAX_FILE_BYTES >> 20} MiB, the most a jail is given")
        return name, Path(host).read_bytes()
    except OSError as error:
        raise NotFoundError(
            f"--file {host}: {error.strerror}", remedy="give a file that can be read"
        ) from None


def to_json(result: JailResult) -> dict[str, Any]:
    """The result as plain data."""
    return {
        "status": str(result.status),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "cpu_s": None if result.cpu_s is None else round(result.cpu_s, 6),
        "wall_s": round(result.wall_s, 6),
        "peak_mib": result.peak_mib,
        **_stream("stdout", result.stdout),
        **_stream("stderr", result.stderr),
        "limits": result.limits,
        "detail": result.detail,
    }


def _stream(name: str, body: bytes) -> dict[str, str]:
    try:
        return {name: body.decode()}
    except UnicodeDecodeError:
        exact = base64.b64encode(body).decode()
        return {name: body.decode(errors="backslashreplace"), f"{name}_base64": exact}


def describe(result: JailResult) -> str:
    """The result for a terminal, whatever the command printed."""
    peak = "unknown" if result.peak_mib is None else f"{result.peak_mib:.1f}"
    cpu = "unknown" if result.cpu_s is None else f"{result.cpu_s:.3f}"
    detail = f" ({clean_text(result.detail)})" if result.detail else ""
    lines = [
        f"status     {result.status}{detail}",
        f"exit_code  {_or_dash(result.exit_code)}",
        f"signal     {_or_dash(result.signal)}",
        f"cpu_s      {cpu}",
        f"wall_s     {result.wall_s:.3f}",
        f"peak_mib   {peak}",
        f"limits     {result.limits}",
    ]
    for name, body in (("stdout", result.stdout), ("stderr", result.stderr)):
        if body:
            lines += [f"{name}:", clean_bytes(body).removesuffix("\n")]
    return "\n".join(lines)


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
