"""Importers: one file per foreign format. What is imported is read as data: never executed, never unpickled.

An importer is a module with these names; a format is called as its module, with `-` for `_`.

- `NAME`, `SUMMARY`: the format, and one line about it.
- `rows(source, options) -> Iterator[Imported]`: what the file or folder `source` holds. TaskError for a row that is
  malformed, with file, row, field and remedy. A row that is sound and cannot be used here comes back `blocked`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from appliance.errors import NotFoundError
from appliance.tables import nearest

HELPERS = ("adapt", "intake", "patches", "row", "source")
"""Modules of this package that are no format."""


def format_names() -> tuple[str, ...]:
    """The formats that can be imported."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in names if name not in HELPERS))


def load_format(name: str) -> ModuleType:
    """The module of a format; NotFoundError with the nearest name."""
    known = format_names()
    if name not in known:
        raise NotFoundError(f"there is no importer for {name!r}", remedy=nearest(name, known))
    return importlib.import_module(f"appliance.importers.{name.replace('-', '_')}")
