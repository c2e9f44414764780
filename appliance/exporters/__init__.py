"""Exporters: one file per foreign format.

An exporter is a module with `NAME`, `SUMMARY` and one or both of these, which write into the folder `out`:

- `write_tasks(tasks, out) -> list[str]`: tasks; what comes back are remarks for the user.
- `write_attempts(transcripts, out) -> list[str]`: attempts of a run.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from appliance.errors import NotFoundError
from appliance.tables import nearest

OF_TASKS = ("chat", "harbor", "swe-bench")
OF_ATTEMPTS = ("atif", "chat")


def load_format(name: str, known: tuple[str, ...]) -> ModuleType:
    """The module of one of the `known` formats; NotFoundError with the nearest name."""
    if name not in known:
        raise NotFoundError(f"there is no exporter for {name!r}", remedy=nearest(name, known))
    return importlib.import_module(f"appliance.exporters.{name.replace('-', '_')}")
