"""`appliance judge`: a file or folder judged as a submission for a task."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.attacks import Attack, Honest
from appliance.clean import clean_line
from appliance.errors import UsageError
from appliance.nouns import Signal, Verdict

if TYPE_CHECKING:
    from appliance.attacks.run import Seen


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


@command.command("attack")
@click.option("--kind", "chosen", multiple=True, help="Only attacks on this kind of task; may be repeated.")
@click.option(
    "--fixtures",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Run the fixtures of this folder instead of those that ship.",
)
@click.option(
    "--pack", "packs", type=click.Path(path_type=Path), multiple=True, help="Where their tasks are."
)
@click.option(
    "--write", type=click.Path(path_type=Path), help="Write what ships as fixtures and judge nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def attack(
    context: click.Context,
    chosen: tuple[str, ...],
    fixtures: Path | None,
    packs: tuple[Path, ...],
    write: Path | None,
    as_json: bool,
) -> None:
    """Try known attacks on the judge, and honest submissions beside them.

    Each attack must be caught and no honest submission be taken for one; the exit code is 1 otherwise.
    """
    from appliance.attacks import run as running
    from appliance.judge import Judge
    from appliance.paths import from_environment
    from appliance.tasks import shipped_packs
    from appliance.yard import Yard

    if write is not None:
        click.echo(f"{running.write(write)} fixtures in {write}")
        return
    if fixtures is not None:
        everywhere = [*packs, running.PACK, *shipped_packs().values()]
        submissions = list(running.read(fixtures, everywhere))
        submissions = [pair for pair in submissions if not chosen or pair[0].kind in chosen]
    else:
        submissions = [pair for kind in chosen or running.kinds() for pair in running.shipped(kind)]
    with Yard(from_environment(os.environ), warm=True) as yard:
        found = running.judged(Judge(yard), submissions, os.cpu_count() or 1)
    wrong = [one for one in found if not one.right]
    if as_json:
        click.echo(json.dumps(_matrix(found)))
    else:
        for line in _attack_lines(found):
            click.echo(line)
    if wrong:
        context.exit(1)


def _matrix(found: Sequence[Seen]) -> dict[str, Any]:
    rows = [(isinstance(one.what, Attack), one.to_json()) for one in found]
    return {
        "ok": all(one.right for one in found),
        "attacks": [row for is_attack, row in rows if is_attack],
        "honest": [row for is_attack, row in rows if not is_attack],
    }


def _attack_lines(found: Sequence[Seen]) -> Iterator[str]:
    """One line for each entry of the catalogue and kind, and each wrong one in full."""
    kinds = sorted({one.kind for one in found})
    ids = sorted({one.what.id for one in found if isinstance(one.what, Attack)}, key=_catalogue)
    yield f"{'':<6}" + "".join(f"{kind:>10}" for kind in kinds)
    for id_ in ids:
        cells = [[one for one in found if one.kind == kind and _is(one, id_)] for kind in kinds]
        yield f"{clean_line(id_, 40):<6}" + "".join(f"{_cell(cell):>10}" for cell in cells)
    honest = [[one for one in found if one.kind == kind and isinstance(one.what, Honest)] for kind in kinds]
    yield f"{'honest':<6}" + "".join(f"{_cell(cell):>10}" for cell in honest)
    for one in (one for one in found if not one.right):
        row = one.to_json()
        name = row.get("variant") or f"{row['id']} {row['name']}"
        wanted = row.get("wanted") or " or ".join(row["required"])
        yield clean_line(
            f"WRONG {one.kind} {name}: {one.verdict.status}, {one.verdict.reward}; wanted {wanted}", 300
        )
    caught = sum(one.right for one in found if isinstance(one.what, Attack))
    attacks = sum(isinstance(one.what, Attack) for one in found)
    false_alarms = sum(not one.right for one in found if isinstance(one.what, Honest))
    yield f"{caught} of {attacks} attacks caught, {false_alarms} of {len(found) - attacks} honest ones misjudged"


def _is(one: Seen, id_: str) -> bool:
    return isinstance(one.what, Attack) and one.what.id == id_


def _catalogue(id_: str) -> tuple[str, int, str]:
    digits = id_[1:]
    return (id_[:1], int(digits) if digits.isdigit() else 0, id_)


def _cell(cell: Sequence[Seen]) -> str:
    """How many of how many were right; nothing where there were none."""
    return f"{sum(one.right for one in cell)}/{len(cell)}" if cell else "-"


LAYERS_OF = {"public_share": {"quick"}, "hidden_share": {"hidden", "suite"}}
"""Signal to the layers that measure it."""


def _signal_line(name: str, signal: Signal, ran: set[str]) -> str:
    """A share of cases that were never asked is not a measured 0 %."""
    measured = name not in LAYERS_OF or LAYERS_OF[name] & ran
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
