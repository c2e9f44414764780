"""`appliance jail`: one command in a jail."""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from appliance.clean import clean_bytes, clean_text
from appliance.cli import probe
from appliance.errors import NotFoundError, UsageError
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy, bounds

F = TypeVar("F", bound=Callable[..., Any])
_DEFAULTS = Limits()
MAX_FILE_BYTES = 64 << 20


def _limit(option: str, name: str, kind: Any, help: str) -> Callable[[F], F]:
    """An option for one limit, bounded as the policy bounds it, so that a refusal names the option."""
    low, high = bounds(name)
    return click.option(
        option, type=kind(low, high), default=getattr(_DEFAULTS, name), show_default=True, help=help
    )


@click.group(name="jail")
def command() -> None:
    """Run commands in jails."""


@command.command("run", context_settings={"allow_interspersed_args": False})
@_limit("--memory-mb", "memory_mb", click.IntRange, "Memory of the whole tree.")
@_limit("--pids", "pids", click.IntRange, "Processes and threads at one time.")
@_limit("--seconds", "wall_s", click.FloatRange, "Limit of wall time and of CPU time.")
@_limit("--disk-mb", "disk_mb", click.IntRange, "Size of each of /work, /tmp, /dev/shm.")
@_limit("--cpus", "cpus", click.FloatRange, "Processors' worth of time per second; 0 is no quota.")
@click.option("--cpuset", default="", metavar="LIST", help="Processors to run on, such as 0-1.")
@click.option("--file", "files", multiple=True, metavar="HOST:NAME", help="Put HOST read-only at /job/NAME.")
@click.option(
    "--image", default="", metavar="NAME|DIGEST", help="Start from this image of `appliance image list`."
)
@click.option("--strict", is_flag=True, help="Refuse to run where limits would be reduced.")
@click.option("--audit", "audit", is_flag=True, help="Trace CMD and say what it did; many times slower.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def run(
    context: click.Context,
    memory_mb: int,
    pids: int,
    seconds: float,
    disk_mb: int,
    cpus: float,
    cpuset: str,
    files: tuple[str, ...],
    image: str,
    strict: bool,
    audit: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Run CMD in a fresh jail: no network, private /work, /tmp and /dev/shm, nothing of the host to write to.

    Its status is one of ok, exit, signal, timeout_cpu, timeout_wall, memory, output, processes, disk, denied, infra.
    The exit code is 0 for every status but infra, which is the host's failure and gives 1. A limit decides the
    status only when it made the command fail: one that was met and survived is ok. One busy thread may meet
    either of the two time limits first.

    In JSON, stdout and stderr are text; where the bytes are not UTF-8 they are shown with \\xNN escapes, and
    stdout_base64 or stderr_base64 holds them exactly. Both are capped.

    With --audit (needs the extra `audit`), `audit` holds what CMD and its children did: files opened, addresses used,
    programs started, calls refused, changes outside /work, and how each process ended. It was read from memory that
    CMD controls: it is evidence, not proof.
    """
    from appliance.paths import from_environment
    from appliance.sandbox.auditing import describe as describe_audit
    from appliance.sandbox.client import Jails

    limits = Limits(
        memory_mb=memory_mb,
        pids=pids,
        cpu_s=seconds,
        wall_s=seconds,
        disk_mb=disk_mb,
        cpus=cpus,
        cpuset=cpuset,
    )
    contents = _contents(files)
    policy, report = Policy(limits, strict=strict), None
    with Jails(from_environment(os.environ), image=image) as jails:
        if audit:
            result, report = jails.audit(command, policy, files=contents)
        else:
            result = jails.run(command, policy, files=contents)
    if as_json:
        click.echo(json.dumps(to_json(result) | ({"audit": report.to_json()} if report else {})))
    else:
        click.echo("\n".join([describe(result), *([describe_audit(report)] if report else [])]))
    if result.status is JailStatus.infra:
        context.exit(1)


command.add_command(probe.command)


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
        "cpu_s": round(result.cpu_s, 6),
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
    detail = f" ({clean_text(result.detail)})" if result.detail else ""
    lines = [
        f"status     {result.status}{detail}",
        f"exit_code  {_or_dash(result.exit_code)}",
        f"signal     {_or_dash(result.signal)}",
        f"cpu_s      {result.cpu_s:.3f}",
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
