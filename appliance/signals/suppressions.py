"""`suppressions`: comments and switches that tell tools to look away, beyond those that were there.

The other signals read over them anyway; a submission that needs them says something about itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from appliance.signals import Exhibit, Reading, Wanted
from appliance.signals.new_findings import Inspection, read_added
from appliance.signals.source_reading import read_sources
from appliance.signals.start_tree import lacks_python as applies

__all__ = ["CONFIG", "LANGUAGE", "OPTIONS", "ROLES", "TOOLS", "applies", "inspect", "read"]

ROLES = ("secondary", "gate", "monitor")
OPTIONS = ("allowance",)
TOOLS: tuple[str, ...] = ()
LANGUAGE = "python"
CONFIG = "suppressed"
STEP = 0.25
"""What a suppression beyond the allowance costs."""


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: suppressions that the submission adds."""
    return read_added(exhibit, wanted, CONFIG, inspect, STEP)


def inspect(exhibit: Exhibit, files: Mapping[str, bytes]) -> Inspection:
    """Suppressions in files."""
    return read_sources(exhibit.tools, files, CONFIG)
