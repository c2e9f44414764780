"""`appliance jail probe`: the catalogue of attacks, tried on this machine."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from appliance.errors import IntegrityError

if TYPE_CHECKING:
    from appliance.sandbox.attacks.examination import Examination, Finding


@click.command("probe")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--fast", is_flag=True, help="Leave out the slow ones.")
@click.option("--warm", is_flag=True, help="Attack warm jails, forked from a zygote, instead of cold ones.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.pass_context
def command(context: click.Context, as_json: bool, fast: bool, warm: bool, ids: tuple[str, ...]) -> None:
    """Attack jails on this machine: every attack of the catalogue, or those of the given IDs or names.

    Each must end as expected and leave nothing behind. A sibling jail runs beside them; how long it was kept from
    its beat is a figure without a verdict. docs/probes.md lists the attacks, and where those are tested that are not
    programs in a jail. The exit code is 7 when one got through or left something, else 0.
    """
    from appliance.paths import from_environment
    from appliance.sandbox.attacks.catalogue import chosen
    from appliance.sandbox.attacks.examination import Examination
    from appliance.sandbox.client import Jails

    probes = chosen(ids, fast=fast)
    paths = from_environment(os.environ)
    with Jails(paths, warm=warm) as jails:
        examination = Examination(jails, paths, jails.rest)
        findings = []
        for found in examination.run(probes):
            findings.append(found)
            if not as_json:
                click.echo(describe(found))
    report = to_json(findings, examination)
    click.echo(json.dumps(report) if as_json else summary(report))
    if not report["ok"]:
        context.exit(IntegrityError.exit_code)


def to_json(findings: list[Finding], examination: Examination) -> dict[str, Any]:
    """The report as plain data."""
    from appliance.sandbox.attacks.metronome import BEAT_S

    counts = {word: sum(found.verdict == word for found in findings) for word in ("pass", "fail", "skip")}
    return {
        "ok": not counts["fail"] and not examination.invariants,
        "counts": counts,
        "limits": examination.limits,
        "late": examination.late,
        "metronome": {
            "beat_ms": BEAT_S * 1000,
            "beats": examination.beats,
            "worst_gap_ms": round(examination.worst_gap_ms, 1),
        },
        "invariants": examination.invariants,
        "probes": [asdict(found) for found in findings],
    }


def describe(found: Finding) -> str:
    """One line; its text is clean already."""
    head = f"{found.verdict:<4}  {found.id:<4} {found.name:<24} {found.seen or '-':<12}"
    return f"{head} {found.reason}".rstrip()


def summary(report: dict[str, Any]) -> str:
    """The last lines for a terminal."""
    counts = report["counts"]
    lines = [f"after all: {text}" for text in report["invariants"]]
    lines.append(
        f"{counts['pass']} pass, {counts['fail']} fail, {counts['skip']} skip; limits {report['limits']};"
        f" {report['late']} late; the sibling missed its beat by"
        f" {max(0.0, report['metronome']['worst_gap_ms'] - report['metronome']['beat_ms']):.0f} ms at most"
    )
    return "\n".join(lines)
