"""The outcome of one check of the admission battery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

CheckState = Literal["passed", "failed", "not_applicable", "not_run"]
"""`not_applicable`: the kind has nothing to ask here. `not_run`: it needs what was not given (a model, a pool)."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its number in the battery, what was found, and in one sentence why it did not pass."""

    id: str
    """`V1` to `V14`."""
    name: str
    state: CheckState
    measured: Mapping[str, Any] = field(default_factory=dict)
    """The numbers that the decision rests on; survivors, places and pairs included, capped."""
    reason: str = ""
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
