"""`appliance status`: is a daemon there, and what is it doing?"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click


@click.command(name="status")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def command(as_json: bool) -> int:
    """Say what the daemon does: its run and stage, what waits, disk and memory. Exit code 1 when none runs."""
    from appliance.cli.contact import daemon_socket
    from appliance.control import ask
    from appliance.daemon.lock import holder
    from appliance.paths import from_environment

    paths = from_environment(os.environ)
    path = daemon_socket(paths)
    nobody = {"daemon": None, "data": str(paths.data)}
    found: dict[str, Any] = ask(path, "status", wait_s=10) if path else nobody
    found["as_of"] = time.time()
    if as_json:
        click.echo(json.dumps(found))
    elif path:
        click.echo("\n".join(_lines(found)))
    else:
        click.echo(f"no daemon runs for {paths.data}; start one with: appliance daemon")
        if who := holder(paths):
            click.echo(f"a run without a daemon is going there (pid {who.pid or 'unknown'})")
    return 0 if path and not found["daemon"]["trouble"] else 1


def _lines(found: dict[str, Any]) -> list[str]:
    from appliance.clean import clean_line

    daemon, disk, memory = found["daemon"], found["disk"], found["memory"]
    state = "draining" if daemon["draining"] else "serving"
    depth = ", ".join(f"{count} {name}" for name, count in found["queue"].items()) or "empty"
    event = found["last_event"]
    rows = {
        "daemon": f"{state}, pid {daemon['pid']}, up {_duration(daemon['uptime_s'])}, {daemon['socket']}",
        "trouble": daemon["trouble"],
        "run": _run(found["run"]),
        "waiting": ", ".join(found["waiting"]) or "none",
        "queue": depth,
        "last event": f"{_clock(event['time'])} {event['text']}" if event else "none",
        "disk": f"{_gib(disk['free'])} free of {_gib(disk['total'])} at {daemon['data']}",
        "memory": f"daemon {_gib(memory['daemon'])}, available {_gib(memory['available'])}",
    }
    return [f"{name:<11}{clean_line(text)}" for name, text in rows.items() if text]


def _run(run: dict[str, Any] | None) -> str:
    if run is None:
        return "none"
    parts = [f"{run['id']}: {run['state']}"]
    if run["stage"]:
        parts.append(f"step {run['step']} of {run['updates']}, {run['stage']}")
    if run["jails"] is not None:
        parts.append(f"{run['jails']} jails")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"{whole // 3600} h {whole % 3600 // 60} min"
        if whole >= 3600
        else f"{whole // 60} min {whole % 60} s"
    )


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
