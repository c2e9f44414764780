"""`appliance attempt`: what the policy wrote, and why it got its reward."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from appliance.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from appliance.replay import Replay


VERBS: dict[str, str] = {"export": "Write the judged attempts of a run in a foreign format."}
"""Verb to help line; the verb `x-y` is the object `command` in `appliance.cli.attempt_x_y`."""


@click.group(cls=LazyGroup, verbs=VERBS, prefix="attempt_")
def command() -> None:
    """List and show attempts with their verdicts."""


@command.command("list")
@click.argument("run_id", metavar="RUN")
@click.option("--step", type=int, help="Only this update or evaluation.")
@click.option(
    "--purpose", type=click.Choice(["train", "eval", "canary"]), help="Only what was tried for this."
)
@click.option("--task", help="Only this task key.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows at most.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def list_attempts(
    run_id: str, step: int | None, purpose: str | None, task: str | None, limit: int, as_json: bool
) -> None:
    """List the attempts of RUN, newest first."""
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        store.run(run_id)
        total, rows = store.attempts(run_id, step=step, purpose=purpose, task_key=task, limit=limit)
    if as_json:
        found = {"as_of": time.time(), "attempts": rows, "total": total, "truncated": total > len(rows)}
        click.echo(json.dumps(found))
        return
    if not rows:
        click.echo("no attempt matches", err=True)
    for row in rows:
        reward = "   -" if row["reward"] is None else f"{row['reward']:4.2f}"
        click.echo(f"{reward}  {row['status'] or 'not judged':<19} {row['stop_reason']:<12} {row['id']}")
    if total > len(rows):
        click.echo(f"showing {len(rows)} of {total}; more with --limit", err=True)


@command.command("show")
@click.argument("attempt_id", metavar="ATTEMPT")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def show(attempt_id: str, as_json: bool) -> None:
    """Show one ATTEMPT: what was written, the verdict and its evidence."""
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        attempt, verdict = store.attempt(attempt_id), store.verdict(attempt_id)
    if as_json:
        click.echo(json.dumps({"attempt": attempt.to_json(), "verdict": verdict and verdict.to_json()}))
        return
    for line in _lines(attempt, verdict):
        click.echo(line)


@command.command("rejudge")
@click.argument("attempt_id", metavar="ATTEMPT")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
@click.pass_context
def rejudge(context: click.Context, attempt_id: str, as_json: bool) -> None:
    """Judge ATTEMPT again with the seed of its verdict, and compare.

    The new verdict goes into the ledger; the one that counts stays. The exit code is 1 when they differ.
    """
    from appliance.daemon.embedded import cards_of
    from appliance.judge import Judge
    from appliance.paths import from_environment
    from appliance.pool.library import Library
    from appliance.recipe import recipe_from_json
    from appliance.replay import among
    from appliance.replay import rejudge as judge_again
    from appliance.store import Store
    from appliance.yard import Yard

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store, Yard(paths) as yard:
        attempt, before = store.attempt(attempt_id), store.verdict(attempt_id)
        recipe = recipe_from_json(store.run(attempt.run_id)["recipe"], f"the run {attempt.run_id}")
        found = judge_again(Judge(yard), attempt, before, among(Library(cards_of(recipe))))
        store.add_rejudging(attempt_id, found.after, time.time())
    if as_json:
        click.echo(json.dumps(_comparison(found)))
    else:
        for line in _compared(found):
            click.echo(line)
    if not found.same:
        context.exit(1)


def _comparison(found: Replay) -> dict[str, Any]:
    return {
        "attempt": found.attempt_id,
        "same": found.same,
        "same_verifier": found.same_verifier,
        "differences": {name: {"was": was, "is": now} for name, (was, now) in found.differences().items()},
        "verdict": found.after.to_json(),
    }


def _compared(found: Replay) -> Iterator[str]:
    worth = "no reward" if found.after.reward is None else f"reward {found.after.reward:.2f}"
    yield f"{found.after.status}, {worth}: {'as before' if found.same else 'NOT as before'}"
    for name, (was, now) in found.differences().items():
        yield f"  {name}: {was} then, {now} now"
    if not found.same_verifier:
        yield "  the verifier has changed since"


def _lines(attempt: Any, verdict: Any) -> list[str]:
    from appliance.audits import describe
    from appliance.clean import clean_text

    lines = [
        f"task     {attempt.task_key}",
        f"policy   {attempt.policy_version}",
        f"stopped  {attempt.stop_reason}",
    ]
    for name, text in attempt.artefacts.items():
        lines += [f"--- {clean_text(name)}", clean_text(text, 20_000)]
    if verdict is None:
        return [*lines, "--- not judged yet"]
    lines.append(f"--- verdict: {verdict.status}, reward {verdict.reward}")
    lines += [f"signal   {name}: {signal.raw:g}" for name, signal in verdict.signals.items()]
    lines += [f"evidence {clean_text(json.dumps(item), 500)}" for item in verdict.evidence]
    return lines + [f"audit    {line}" for line in (describe(verdict.audit) if verdict.audit else ())]
