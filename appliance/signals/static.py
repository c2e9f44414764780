"""`static`: what ruff finds in the change, by our rules and whatever its comments say.

Suppressions are read over and no configuration is found: ruff is given files under names of ours, in a folder of ours,
with everything that it can be told on its command line. Rules of taste are left out: what remains is likely wrong,
or hard to follow.
"""

from __future__ import annotations

from collections.abc import Mapping

from appliance.signals import Exhibit, Reading, Wanted
from appliance.signals.new_findings import Inspection, read_added, remarks_on
from appliance.signals.start_tree import lacks_python as applies
from appliance.signals.tool_jail import parsed, plainly_named, run_tool

__all__ = ["CONFIG", "LANGUAGE", "OPTIONS", "ROLES", "TOOLS", "applies", "inspect", "read"]

ROLES = ("secondary", "gate", "monitor")
OPTIONS = ("allowance",)
TOOLS = ("ruff",)
LANGUAGE = "python"
STEP = 0.2
"""What a finding costs."""

_COMMAND = (
    "ruff", "check", "--isolated", "--no-cache", "--quiet", "--ignore-noqa", "--no-fix", "--no-preview",
    "--output-format=json", "--target-version=py311",
    "--select=E4,E7,E9,F,B,C4,C90,PLE,PLW",
    "--ignore=B905,C408,E701,E702,E741,PLW0603,PLW2901",
    "--config=lint.mccabe.max-complexity=15",
)  # fmt: skip
CONFIG = " ".join(_COMMAND)


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: findings that the submission adds."""
    return read_added(exhibit, wanted, CONFIG, inspect, STEP)


def inspect(exhibit: Exhibit, files: Mapping[str, bytes]) -> Inspection:
    """What ruff says about files."""
    names = plainly_named(files)
    given = {inside: files[name] for inside, name in names.items()}
    ran = run_tool(exhibit.tools, [*_COMMAND, *(f"/job/{name}" for name in names)], given, exits=(0, 1))
    rows = parsed(ran)
    if ran.trouble or not isinstance(rows, list):
        return Inspection(blocked=ran.trouble or "ruff did not answer in JSON")
    found = (
        (
            str(row["code"] or "syntax"),
            names[row["filename"].removeprefix("/job/")],
            int(row["location"]["row"]),
            str(row["message"]),
        )
        for row in rows
    )
    return Inspection(remarks_on(files, found))
