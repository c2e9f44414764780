"""`security`: what bandit finds, and a short list of our own: code out of strings, reach into the interpreter, data
that hides a program, sources that are not what they look like.

Only findings that bandit is fairly sure of and holds for more than a nuisance count. Its suppressions are read over.
"""

from __future__ import annotations

from collections.abc import Mapping

from appliance.signals import Exhibit, Reading, Wanted
from appliance.signals.new_findings import Inspection, read_added, remarks_on
from appliance.signals.source_reading import read_sources
from appliance.signals.start_tree import lacks_python as applies
from appliance.signals.tool_jail import parsed, plainly_named, run_tool

__all__ = ["CONFIG", "LANGUAGE", "OPTIONS", "ROLES", "TOOLS", "applies", "inspect", "read"]

ROLES = ("secondary", "gate", "monitor")
OPTIONS = ("allowance",)
TOOLS = ("bandit",)
LANGUAGE = "python"
STEP = 0.5
"""What a finding costs."""

_COMMAND = (
    "python3", "-I", "-B", "-m", "bandit", "--quiet", "--format=json", "--ignore-nosec", "--exit-zero",
    "--severity-level=medium", "--confidence-level=medium", "--number=1",
    # B108: a fixed folder for temporary files is no matter for a submission that lives in a jail. B102 and B307: our
    # own list knows exec and eval by more names, and a function of that name from the built-in one.
    "--skip=B102,B108,B307",
)  # fmt: skip
CONFIG = " ".join(_COMMAND)


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: findings that the submission adds."""
    return read_added(exhibit, wanted, CONFIG, inspect, STEP)


def inspect(exhibit: Exhibit, files: Mapping[str, bytes]) -> Inspection:
    """What bandit and our own list say about files."""
    own = read_sources(exhibit.tools, files, "denied")
    theirs = _bandit(exhibit, files)
    return Inspection(own.remarks + theirs.remarks, own.blocked or theirs.blocked)


def _bandit(exhibit: Exhibit, files: Mapping[str, bytes]) -> Inspection:
    names = plainly_named(files)
    given = {inside: files[name] for inside, name in names.items()}
    ran = run_tool(exhibit.tools, [*_COMMAND, *(f"/job/{name}" for name in names)], given)
    report = parsed(ran)
    if ran.trouble or not isinstance(report, dict):
        return Inspection(blocked=ran.trouble or "bandit did not answer in JSON")
    if report["errors"]:
        return Inspection(blocked=f"bandit: {report['errors'][0]['reason']}")
    found = (
        (
            row["test_id"],
            names[row["filename"].removeprefix("/job/")],
            int(row["line_number"]),
            row["issue_text"],
        )
        for row in report["results"]
    )
    return Inspection(remarks_on(files, found))
