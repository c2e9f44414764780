"""The judge's side of `source_worker`: files in, remarks out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from appliance.examination import Opener
from appliance.signals.new_findings import Inspection, remarks_on
from appliance.signals.tool_jail import parsed, plainly_named, run_tool


@functools.cache
def worker() -> bytes:
    """The source of the worker, which is also its configuration."""
    return Path(__file__).with_name("source_worker.py").read_bytes()


def read_sources(tools: Opener, files: Mapping[str, bytes], reader: str) -> Inspection:
    """What one of the worker's readers says about Python files."""
    names = plainly_named(files)
    given = {"source_worker.py": worker(), **{inside: files[name] for inside, name in names.items()}}
    command = ["python3", "-I", "-S", "-B", "/job/source_worker.py", reader]
    ran = run_tool(tools, [*command, *(f"/job/{name}" for name in names)], given)
    rows = parsed(ran)
    if ran.trouble or not isinstance(rows, list):
        return Inspection(blocked=ran.trouble or "the sources could not be read")
    found = ((code, names[name.removeprefix("/job/")], line, message) for code, name, line, message in rows)
    return Inspection(remarks_on(files, found))
