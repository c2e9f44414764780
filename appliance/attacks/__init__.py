"""Attacks on the judge: known ways to a reward without the work, one module for each kind of task.

A module is named as its kind and has `TASK` (a folder of the pack beside it), `attacks(task)` and `honest(task)`, and
perhaps `MORE`, further folders, each with the two functions that make its submissions. The ids are those of the
catalogue: a letter for the family, a number for the entry. An attack is caught when its verdict has one of the statuses
required of it and no reward; an honest submission must get exactly its own status, so that a wrong solution is never
taken for a cheat. `appliance judge attack` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.nouns import VerdictStatus


@dataclass(frozen=True, slots=True)
class Attack:
    """One hostile submission."""

    id: str
    """Entry of the catalogue, as in `A1`; several variants of one entry differ in `name`."""
    name: str
    """What it does, in a few words joined by hyphens."""
    files: Mapping[str, bytes]
    required: tuple[VerdictStatus, ...]
    """Any of them is right; where the attack leaves a trace that nothing else leaves, only `tamper` is."""


@dataclass(frozen=True, slots=True)
class Honest:
    """One submission without a bad intent, right or wrong."""

    variant: str
    """As in `gold`, `alternative`, `wrong-value`, `unfinished`."""
    files: Mapping[str, bytes]
    status: VerdictStatus
