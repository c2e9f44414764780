"""`appliance task tiers`: where each task stands for the policy of a run."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import click

from appliance.clean import clean_line

SHOWN = 40


@click.command("tiers")
@click.argument("run_id", metavar="RUN")
@click.option("--all", "every", is_flag=True, help=f"Every task, not the {SHOWN} least certain ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run_id: str, every: bool, as_json: bool) -> None:
    """Show the tier and the posterior of each train task for the newest policy of RUN.

    A task moves to another tier when the 90 % interval of its pass rate lies wholly in it.
    """
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        recipe = store.run(run_id)["recipe"]
        scores = store.train_scores(run_id, 1 << 62)
    rows = standing(recipe, scores, run_id)
    counts = Counter(row["tier"] for row in rows)
    if as_json:
        click.echo(json.dumps({"run": run_id, "tiers": counts, "tasks": rows}))
        return
    click.echo(
        "  ".join(f"{tier} {counts[tier]}" for tier in ("dormant", "hard", "core", "easy", "mastered"))
    )
    for row in rows if every else rows[:SHOWN]:
        span = f"{row['low']:4.0%} to {row['high']:4.0%}"
        tried = f"{row['tries']:>3} groups, last in update {row['last']}" if row["tries"] else "never tried"
        click.echo(f"{row['tier']:<9} {row['mean']:4.0%}  {span}  {clean_line(row['task']):<36} {tried}")
    if not every and len(rows) > SHOWN:
        click.echo(f"showing {SHOWN} of {len(rows)}; all with --all", err=True)


def standing(
    recipe: dict[str, Any], scores: list[tuple[str, int, int, int, float]], source: str
) -> list[dict[str, Any]]:
    """Every train task of a recipe with its posterior, the widest interval first."""
    from appliance.daemon.embedded import cards_of
    from appliance.recipe import recipe_from_json
    from appliance.sampler.choices import Score
    from appliance.sampler.roster import make_roster
    from appliance.sampler.state import posterior, rebuilt
    from appliance.sampler.tiers import TIERS, interval

    tasks = [task for task in cards_of(recipe_from_json(recipe, source)) if task.split == "train"]
    roster = make_roster((task.key, task.family, task.tier) for task in tasks)
    state = rebuilt(roster, [Score(*score) for score in scores])
    a, b = posterior(roster, state)
    low, high = interval(a, b)
    rows = [
        {
            "task": key,
            "family": roster.families[roster.family[place]],
            "tier": TIERS[state.tier[place]],
            "mean": float(a[place] / (a[place] + b[place])),
            "low": float(low[place]),
            "high": float(high[place]),
            "tries": int(state.tries[place]),
            "last": int(state.last[place]),
        }
        for place, key in enumerate(roster.keys)
    ]
    return sorted(rows, key=lambda row: row["low"] - row["high"])
