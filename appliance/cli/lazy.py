"""A group of verbs that are found in a table and imported only when they are used, so that help answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Verbs of a table beside those that are added by hand; `x-y` is `command` in `appliance.cli.PREFIXx_y`."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], prefix: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verbs, self._prefix = verbs, prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._verbs, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return super().get_command(ctx, cmd_name)
        name = f"appliance.cli.{self._prefix}{cmd_name.replace('-', '_')}"
        command: click.Command = importlib.import_module(name).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = {name: command.get_short_help_str(70) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted({**own, **self._verbs}.items()))
