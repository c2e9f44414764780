"""`appliance eval`: how often a model passes the tasks of a pack, kept as a baseline and compared."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line
from appliance.errors import EXIT_INTERRUPTED, NotFoundError, UsageError

if TYPE_CHECKING:
    from appliance.baselines import Comparison
    from appliance.paths import Paths
    from appliance.recipe import Recipe
    from appliance.store import Store

SHOWN = 10
"""Tasks of a comparison that are shown in each direction."""


@click.command()
@click.argument("model", required=False)
@click.option("--pack", "packs", multiple=True, help="A shipped pack or the folder of one; may be repeated.")
@click.option(
    "--repeats", type=click.IntRange(1, 1024), default=8, show_default=True, help="Attempts per task."
)
@click.option(
    "--split",
    type=click.Choice(["eval", "train", "canary", "all"]),
    default="eval",
    show_default=True,
    help="Which tasks.",
)
@click.option(
    "--temperature", type=click.FloatRange(0, 4), default=1.0, show_default=True, help="0 is greedy."
)
@click.option(
    "--max-tokens", type=click.IntRange(1, 4096), default=48, show_default=True, help="Per attempt."
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--slots", type=click.IntRange(1, 192), default=32, show_default=True, help="Decoded together.")
@click.option("--name", default="eval", show_default=True, help="The id of the evaluation begins with it.")
@click.option("--resume", metavar="EVAL", help="Go on with an evaluation that was interrupted.")
@click.option("--list", "listing", is_flag=True, help="List the evaluations on record, oldest first.")
@click.option("--show", "shown", metavar="EVAL", help="Show one: EVAL, or RUN@UPDATE of a training run.")
@click.option("--compare", "pair", nargs=2, metavar="A B", help="Compare B with A, task by task.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
@click.pass_context
def command(
    context: click.Context, /, model: str | None, pair: tuple[str, str] | None, **options: Any
) -> int:
    """Evaluate MODEL: `starter`, a GGUF file, or what a run trained (RUN, RUN@UPDATE).

    \b
    Examples:
      appliance eval starter --pack starter --repeats 16
      appliance eval starter-20260101-120000-s0 --pack starter --repeats 16
      appliance eval --list
      appliance eval --compare eval-20260101-120000-s0 eval-20260102-120000-s0
    """
    from appliance.paths import from_environment

    paths, as_json = from_environment(os.environ), options["as_json"]
    asked = [bool(model), bool(options["resume"]), options["listing"], bool(options["shown"]), bool(pair)]
    if sum(asked) != 1:
        raise UsageError(
            "give one of MODEL, --resume, --list, --show and --compare",
            remedy="appliance eval starter --pack starter",
        )
    if options["listing"]:
        return _list(paths, as_json)
    if options["shown"]:
        return _print(paths, options["shown"], as_json)
    if pair:
        return _compare(paths, *pair, as_json)
    return _evaluate(context, paths, model, options)


def _evaluate(context: click.Context, paths: Paths, model: str | None, options: Mapping[str, Any]) -> int:
    from appliance.cli.progress import progress
    from appliance.cli.train import interruptible
    from appliance.config import Origins
    from appliance.daemon import embedded
    from appliance.daemon.book import Wish

    if options["resume"]:
        typed = [
            name
            for name in ("packs", "repeats", "split", "seed", "temperature", "max_tokens")
            if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        ]
        if typed:
            raise UsageError(f"--{typed[0].replace('_', '-')} cannot change an evaluation that is resumed")
        wish = embedded.wish_to_resume(paths, options["resume"])
        if wish.recipe.grpo.updates:
            raise UsageError(
                f"{options['resume']} is a training run",
                remedy=f"appliance train --resume {options['resume']}",
            )
    else:
        wish = Wish(_recipe(paths, str(model), options), Origins({}), source=f"eval {model}")
    with interruptible() as stop, progress() as listen:
        outcome = embedded.run(wish, paths, (listen,), stop)
    if outcome.state == "stopped":
        click.echo(f"stopped; go on with: appliance eval --resume {outcome.run_id}", err=True)
        return EXIT_INTERRUPTED
    return _print(paths, outcome.run_id, options["as_json"])


def _recipe(paths: Paths, model: str, options: Mapping[str, Any]) -> Recipe:
    """An evaluation is a run without updates: kept, resumed and shown as every run."""
    from appliance.recipe import recipe_from_json

    if not options["packs"]:
        raise UsageError("name what to evaluate on", remedy="--pack starter, or the folder of a pack")
    gguf, policy = _model(paths, model)
    data: dict[str, Any] = {
        "name": options["name"],
        "seed": options["seed"],
        "model": {"gguf": gguf, "policy": policy},
        "tasks": {"packs": [_pack(pack) for pack in options["packs"]]},
        "sampling": {"max_tokens": options["max_tokens"]},
        "evaluation": {
            "attempts": options["repeats"],
            "temperature": options["temperature"],
            "split": options["split"],
        },
        "grpo": {"updates": 0},
        "engine": {"slots": options["slots"]},
    }
    return recipe_from_json(data, "appliance eval")


def _pack(name: str) -> str:
    """What lies here under that name beats a shipped pack only when it is written as a path."""
    return str(Path(name).resolve()) if "/" in name or name.startswith(".") else name


def _model(paths: Paths, model: str) -> tuple[str, str]:
    """The GGUF file, and the run whose adapter it is to have."""
    from appliance.store import Store

    if model == "starter":
        return model, ""
    if Path(model).is_file():
        return str(Path(model).resolve()), ""
    if model.endswith(".gguf") or "/" in model:
        raise NotFoundError(f"{model}: no such file", remedy="give a GGUF file, `starter` or a run")
    with Store(paths.store, paths.objects) as store:
        run = store.run(model.partition("@")[0])
    return str(run["recipe"]["model"]["gguf"]), model


# what is on record


def _list(paths: Paths, as_json: bool) -> int:
    from appliance.store import Store

    with Store(paths.store, paths.objects) as store:
        rows = [
            _entry(store.run(run["id"]), row)
            for run in reversed(store.runs())
            for row in store.evaluations(run["id"])
        ]
    if as_json:
        click.echo(json.dumps({"evaluations": rows}))
        return 0
    for row in rows:
        rate = "  n/a" if row["pass_rate"] is None else f"{row['pass_rate']:5.1%}"
        size = f"{row['tasks']:>4} tasks x {row['repeats']:<4}"
        day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(row["time"]))
        click.echo(f"{day}  {rate}  {size} {clean_line(row['id']):<40} {clean_line(row['packs'])}")
    if not rows:
        click.echo("no evaluation yet; make one: appliance eval starter --pack starter", err=True)
    return 0


def _entry(run: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    recipe = run["recipe"]
    return {
        "id": run["id"] if not recipe["grpo"]["updates"] else f"{run['id']}@{row['step']}",
        "time": row["created"],
        "pass_rate": row["pass_rate"],
        "tasks": len(row["by_task"]),
        "repeats": recipe["evaluation"]["attempts"],
        "temperature": recipe["evaluation"]["temperature"],
        "packs": ", ".join(Path(pack).name for pack in recipe["tasks"]["packs"]),
        "policy_version": row["policy_version"],
    }


def find(store: Store, name: str) -> dict[str, Any]:
    """The evaluation that EVAL, RUN or RUN@UPDATE names: without an update the last. NotFoundError."""
    run_id, _, step = name.partition("@")
    run = store.run(run_id)
    rows = store.evaluations(run_id)
    found = [row for row in rows if not step or str(row["step"]) == step]
    if not found:
        steps = ", ".join(f"{run_id}@{row['step']}" for row in rows) or "none"
        raise NotFoundError(f"no evaluation {name!r} on record", remedy=f"{run_id} has: {steps}")
    return _entry(run, found[-1]) | {"by_task": found[-1]["by_task"]}


def _print(paths: Paths, name: str, as_json: bool) -> int:
    from appliance import baselines
    from appliance.store import Store

    with Store(paths.store, paths.objects) as store:
        row = find(store, name)
    by_task = row["by_task"]
    most = max((tally["n"] for tally in by_task.values()), default=0)
    found = {
        **row,
        "interval": baselines.interval(by_task),
        "figures": [
            {"k": one.k, "tasks": one.tasks, "pass_at_k": one.pass_at, "pass_all_k": one.pass_all}
            for one in baselines.figures(by_task, baselines.ladder(most))
        ],
        "by_tier": baselines.by_group(by_task, lambda key, tally: str(tally.get("tier", ""))),
        "by_pack": baselines.by_group(by_task, lambda key, tally: key.partition("/")[0]),
    }
    for line in [json.dumps(found)] if as_json else _lines(found):
        click.echo(line)
    return 0


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield clean_line(f"{found['id']}: {found['tasks']} tasks, {found['repeats']} attempts each")
    yield clean_line(f"policy {found['policy_version']}, temperature {found['temperature']:g}")
    low, high = found["interval"] or (None, None)
    yield f"pass@1  {_share(found['pass_rate'])}  ({_share(low)} to {_share(high)}, over tasks)"
    yield "   k   pass@k   pass^k  tasks"
    for one in found["figures"]:
        yield f"{one['k']:>4}   {_share(one['pass_at_k'])}   {_share(one['pass_all_k'])}  {one['tasks']:>5}"
    for title in ("by_tier", "by_pack"):
        for name, part in found[title].items():
            yield f"{title[3:]:<5} {clean_line(name):<12} {_share(part['pass_rate'])}  {part['tasks']} tasks"


def _compare(paths: Paths, first: str, second: str, as_json: bool) -> int:
    from appliance import baselines
    from appliance.store import Store

    with Store(paths.store, paths.objects) as store:
        before, after = find(store, first), find(store, second)
    found = baselines.compare(before["by_task"], after["by_task"])
    if as_json:
        click.echo(json.dumps({"before": before["id"], "after": after["id"], **found.to_json()}))
        return 0
    for line in _comparison_lines(before, after, found):
        click.echo(line)
    return 0


def _comparison_lines(
    before: Mapping[str, Any], after: Mapping[str, Any], found: Comparison
) -> Iterator[str]:
    from appliance import baselines

    if found.change is None:
        yield clean_line(f"{before['id']} and {after['id']} have no task in common whose content is the same")
    else:
        change = found.change
        few = change.tasks < baselines.FEWEST_TASKS
        word = (
            "too few tasks to tell"
            if few
            else "REGRESSED"
            if found.regressed
            else "improved"
            if found.improved
            else "no clear change"
        )
        yield f"{word}: {change.before:.1%} -> {change.after:.1%} over {change.tasks} tasks"
        yield f"change {change.change:+.1%} (95 % of bootstraps over tasks: {change.low:+.1%} to {change.high:+.1%})"
        yield f"{len(found.better)} tasks better, {len(found.worse)} worse; sign test p = {found.p:.3g}"
    for word, part in (("worse", found.worse), ("better", found.better)):
        for key, old, new in part[:SHOWN]:
            yield f"  {word:<6} {clean_line(key)}: {old:.0%} -> {new:.0%}"
    if found.left_out:
        key, why = next(iter(found.left_out.items()))
        yield f"left out: {len(found.left_out)} tasks, the first {clean_line(key)} ({why})"


def _share(value: float | None) -> str:
    return "   n/a" if value is None else f"{value:6.1%}"
