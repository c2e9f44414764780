"""`appliance train`: a recipe from start to report."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import click

from appliance.errors import EXIT_INTERRUPTED, UsageError

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Ctrl-C (or a closed terminal) once asks for a clean stop; a second time interrupts at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with suppress(OSError):  # after a hang-up there is no terminal to tell
            click.echo("\nstopping cleanly; Ctrl-C again to stop at once", err=True)


@contextmanager
def interruptible() -> Iterator[StopRequest]:
    request = StopRequest()
    # What the caller ignores stays ignored: under nohup a hang-up must not stop a run.
    heard = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, request.handle) for number in heard}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path), required=False)
@click.option("--seed", type=click.IntRange(min=0, max=2**31 - 1), help="Beats the seed of the recipe.")
@click.option("--resume", metavar="RUN", help="Go on with a stopped or failed run, from its last checkpoint.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def command(recipe: Path | None, seed: int | None, resume: str | None, as_json: bool) -> int:
    """Train a model as RECIPE (a TOML file) says: evaluate, update, evaluate, report.

    \b
    Examples:
      appliance train recipes/starter.toml
      appliance train recipes/starter.toml --seed 1 --json
      appliance train --resume starter-20260101-120000-s0
    """
    from appliance.cli.progress import progress
    from appliance.daemon import embedded
    from appliance.daemon.book import Wish
    from appliance.paths import from_environment
    from appliance.recipe import load_recipe
    from appliance.report import write_report

    paths = from_environment(os.environ)
    if (recipe is None) == (resume is None):
        raise UsageError("give either RECIPE or --resume RUN", remedy="appliance train recipes/starter.toml")
    if resume:
        if seed is not None:
            raise UsageError(
                "--seed cannot change a run that is resumed", remedy="leave it out or start a new run"
            )
        wish = embedded.wish_to_resume(paths, resume)
    else:
        assert recipe is not None
        wish = Wish(*load_recipe(recipe, seed=seed), source=str(recipe))
    with interruptible() as stop, progress() as listen:
        outcome = embedded.run(wish, paths, (listen,), stop)
    report = write_report(paths.store, outcome.run_id, outcome.folder)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "run": outcome.run_id,
                    "state": outcome.state,
                    "folder": str(outcome.folder),
                    **report.to_json(),
                }
            )
        )
    else:
        click.echo(report.text)
    if outcome.state == "stopped":
        click.echo(f"stopped; go on with: appliance train --resume {outcome.run_id}", err=True)
        return EXIT_INTERRUPTED
    return 0
