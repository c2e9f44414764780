"""Generator families: one file each, unlimited seeded variants of one idea with knobs for difficulty.

A family is a module with `NAME`, `KIND`, `SUMMARY`, `KNOBS` and `make(seed, knobs)`; `appliance.families.form` makes a
task folder of what that returns.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType

from appliance.errors import NotFoundError, UsageError
from appliance.families import form
from appliance.pool.folder import Folder
from appliance.tables import nearest

HELPERS = {"form"}
"""Modules of this package that are no family."""
_TURNS = 20
"""Drafts of one seed that are tried until the answers differ enough to judge by."""


def family_names() -> tuple[str, ...]:
    """The families that there are."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in names if name not in HELPERS))


def load_family(name: str) -> ModuleType:
    """The module of a family; NotFoundError with the nearest name."""
    known = family_names()
    if name not in known:
        raise NotFoundError(f"there is no family {name!r}", remedy=nearest(name, known))
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def checked(family: ModuleType, given: Mapping[str, int]) -> dict[str, int]:
    """Every knob of a family, as given or by default. UsageError for an unknown one or one out of bounds."""
    knobs: Mapping[str, form.Knob] = family.KNOBS
    for name, value in given.items():
        if name not in knobs:
            raise UsageError(f"the family {family.NAME!r} has no knob {name!r}", remedy=nearest(name, knobs))
        if not knobs[name].low <= value <= knobs[name].high:
            bounds = f"{knobs[name].low} to {knobs[name].high}"
            raise UsageError(
                f"knob {name!r} of {family.NAME!r}: {value} is out of bounds", remedy=f"write {bounds}"
            )
    return {name: given.get(name, knob.default) for name, knob in knobs.items()}


def variant(family: ModuleType, pack: str, split: str, seed: int, knobs: Mapping[str, int]) -> Folder:
    """The task folder of a variant. The name tells the seed, and each knob that is not at its default."""
    turned = [
        f"{name}{value}" for name, value in sorted(knobs.items()) if value != family.KNOBS[name].default
    ]
    name = "-".join([family.NAME, str(seed), *turned])
    for turn in range(_TURNS):
        draft = family.make(str(seed) if turn == 0 else f"{seed}.{turn}", knobs)
        files = form.files_of(family.KIND, draft, seed)
        if form.is_varied(family.KIND, files):
            break
    return form.folder(family, draft, files, f"{pack}/{name}", split, seed, knobs)
