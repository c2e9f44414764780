"""Task kinds: one file each, named as in `pool.toml`; what only one kind needs lies beside it as `kind_helper.py`.

A kind is a module with these names. It asks the candidate and writes down what came back; the judge decides.

- `SETTINGS`: the fields of the kind's own table in `pool.toml`.
- `START`: the file of the task folder that a candidate continues and is shown; empty when there is none.
- `FILES`: further files that the task folder must hold.
- `check(folder, settings)`: raise TaskError unless the folder can be judged.
- `accepts(task, name) -> bool`: whether a submission may hold a file of that name (which is relative and plain).
- `lone(task) -> str`: the name of a submission that is one file.
- `intake(task, artefacts) -> Finding | None`: what can be decided without running anything. Names and sizes have
  been looked at.
- `totals(task) -> (public, hidden)`: how many cases there are, whatever is reached.
- `examine(task, artefacts, jails, seed, clock) -> Examination`: ask. SandboxError is the host's failure. All that is
  random is drawn from `seed`, which the siblings of a group share.
- `controls(task) -> {name: (artefacts, reward)}`: submissions whose reward is known; at least `gold`, `empty` and
  `start`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from appliance.errors import NotFoundError
from appliance.tables import nearest


def kind_names() -> tuple[str, ...]:
    """The kinds there are: one file each in `appliance/kinds`; helpers of a kind are named `kind_helper`."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if "_" not in name))


def load_kind(name: str) -> ModuleType:
    """The module of a kind; NotFoundError with the nearest name."""
    known = kind_names()
    if name not in known:
        raise NotFoundError(f"there is no task kind {name!r}", remedy=nearest(name, known))
    return importlib.import_module(f"appliance.kinds.{name}")
