"""The tasks that a sampler chooses from, as arrays: 100,000 of them take a few megabytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

LABELS = ("hard", "core", "easy")
"""The tiers that authors write, in the order of the numbers that stand for them."""


@dataclass(frozen=True)
class Roster:
    """N tasks in order of key. Equal rosters number tasks and families alike."""

    keys: tuple[str, ...]
    families: tuple[str, ...]
    family: npt.NDArray[np.int32]
    """(N,) Position in `families`."""
    label: npt.NDArray[np.int8]
    """(N,) Position in `LABELS`."""

    @cached_property
    def places(self) -> dict[str, int]:
        """Key to position."""
        return {key: place for place, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)


def make_roster(rows: Iterable[Sequence[str]]) -> Roster:
    """The roster of (key, family, authored tier) rows, whose keys differ."""
    ordered = sorted(rows, key=lambda row: row[0])
    families = sorted({row[1] for row in ordered})
    numbers = {name: number for number, name in enumerate(families)}
    labels = {name: number for number, name in enumerate(LABELS)}
    return Roster(
        tuple(row[0] for row in ordered),
        tuple(families),
        np.array([numbers[row[1]] for row in ordered], dtype=np.int32),
        np.array([labels[row[2]] for row in ordered], dtype=np.int8),
    )
