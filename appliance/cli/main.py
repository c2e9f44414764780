"""The entry point: verbs are found in a table and loaded only when called, so that help answers at once."""

from __future__ import annotations

import errno
import sys
from typing import Any

import click

from appliance import __version__
from appliance.cli.lazy import LazyGroup
from appliance.errors import EXIT_INTERRUPTED, ApplianceError

VERBS: dict[str, str] = {
    "alarm": "Show what monitoring found, silence it, print its curves.",
    "attempt": "List and show attempts with their verdicts.",
    "bench": "Measure this machine.",
    "daemon": "Carry out runs one after the other, and take orders.",
    "doctor": "Check that this machine can do the main job.",
    "eval": "Measure how often a model passes the tasks of a pack; compare.",
    "events": "Print what happened, and follow it.",
    "image": "Make, import, list and check the images that jails start from.",
    "install-units": "Install the service's systemd units.",
    "jail": "Run commands in jails; attack them.",
    "jailer": "Serve jails to other processes of this machine.",
    "job": "List, show, cancel and requeue jobs.",
    "judge": "Judge a file or folder as a submission for a task.",
    "metrics": "Print what the queue does, for a metrics collector.",
    "review": "Look at attempts by hand; audit verifiers.",
    "run": "Start, steer and list runs; show their reports.",
    "status": "Say what the daemon does.",
    "task": "List, show and check tasks.",
    "train": "Train a model as a recipe says.",
    "tui": "Watch a run in the terminal.",
}
"""Verb to help line; the verb `x-y` is the object `command` in `appliance.cli.x_y`."""


@click.group(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="appliance")
def appliance() -> None:
    """Train a small language model by trial and verified feedback, on this machine alone.

    \b
    Exit codes: 0 done or healthy, 1 the thing asked about failed, 2 usage or configuration,
    4 not found, 7 an integrity check failed, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. Errors go to stderr, data to stdout."""
    try:
        outcome: Any = appliance.main(args=arguments, prog_name="appliance", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except ApplianceError as error:
        click.echo(f"appliance: {_clean(str(error))}", err=True)
        return error.exit_code
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("appliance: interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _silence_stdout()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo(f"appliance: {error.strerror}", err=True)
        return _silence_stdout()


def _clean(text: str) -> str:
    from appliance.clean import clean_text

    return clean_text(text)


def _silence_stdout() -> int:
    """The reader of our output went away (`| head`): no traceback, and no second one at shutdown."""
    sys.stdout = None
    return 1
