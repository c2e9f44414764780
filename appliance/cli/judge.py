"""`appliance judge`: a file or folder judged as a submission for a task."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from appliance.errors import UsageError
from appliance.nouns import Signal, Verdict


@click.group(name="judge")
def command() -> None:
    """Judge submissions."""


@command.command("run")
@click.argument("task")
@click.argument("path")
@click.option(
    "--pack", "packs", type=click.Path(path_type=Path), multiple=True, help="Look for TASK here instead."
)
@click.option("--seed", default=0, show_default=True, help="Draws the order of the hidden cases.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@click.pass_context
def run(
    context: click.Context, task: str, path: str, packs: tuple[Path, ...], seed: int, as_json: bool
) -> None:
    """Judge PATH (a file or folder) as a submission for TASK (a task key or a task folder).

    The exit code is 0 for every verdict on the submission and 1 when the host, not the submission, failed.
    """
    from appliance.judge import Judge, read_submission
    from appliance.paths import from_environment
    from appliance.tasks import find_task
    from appliance.yard import Yard

    if not path:
        # As a path it would be the current folder, which nobody meant to hand in.
        raise UsageError("PATH is empty", remedy="give a file or a folder to judge")
    found = find_task(task, packs or None)
    artefacts = read_submission(Path(path), found)
    with Yard(from_environment(os.environ)) as yard:
        verdict = Judge(yard).judge(found, artefacts, seed=seed)
    click.echo(json.dumps(verdict.to_json()) if as_json else describe(verdict))
    if verdict.masked:
        context.exit(1)


LAYER_OF = {"public_share": "quick", "hidden_share": "hidden"}
"""Signal to the layer that measures it."""


def _signal_line(name: str, signal: Signal, ran: set[str]) -> str:
    """A share of cases that were never asked is not a measured 0 %."""
    measured = LAYER_OF.get(name) is None or LAYER_OF[name] in ran
    value = f"{signal.value:6.1%}" if measured else "not run"
    return f"  {name:<13} {value}  ({signal.role})"


def describe(verdict: Verdict) -> str:
    """The verdict in a few lines for a terminal; its candidate text is already escaped and capped."""
    worth = "no reward" if verdict.reward is None else f"reward {verdict.reward:.2f}"
    lines = [f"{verdict.task}: {verdict.status}, {worth}"]
    ran = {layer["name"] for layer in verdict.layers}
    lines += [_signal_line(name, signal, ran) for name, signal in verdict.signals.items()]
    closed = [name for name, is_open in verdict.gates.items() if not is_open]
    lines += [f"  closed gates  {', '.join(closed)}"] if closed else []
    for item in verdict.evidence:
        case = f" case {item['case']}" if "case" in item else ""
        lines.append(
            f"  {item['layer']}{case}: {item['outcome']}  {item.get('text', item.get('got', ''))}".rstrip()
        )
    saved = f", {verdict.cost['saved_s']:.2f} s saved" if "saved_s" in verdict.cost else ""
    lines.append(
        f"  cpu {verdict.cost.get('cpu_s', 0.0):.2f} s, judged in {verdict.cost['judge_s']:.2f} s{saved}"
    )
    return "\n".join(lines)
