"""What a run works with beside its plan."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.journal import Journal
from appliance.learn.base import Base
from appliance.paths import Paths
from appliance.yard import Yard


@dataclass(frozen=True, slots=True)
class Gear:
    """Folders, journal, prepared base and jails of a run."""

    paths: Paths
    journal: Journal
    base: Base
    yard: Yard
