"""`types`: what mypy finds in the tree, beyond what it finds in the untouched one.

The whole tree is checked, because a change in one file can be an error in another. Comments that silence mypy are
blunted first; no configuration of the tree is read. A start that is fully annotated must stay so; where it is not,
missing annotations are nobody's fault.

mypy spends most of a second on reading stubs of the standard library. What it makes of the common ones is computed
once in a process, in a jail of its own without any candidate's file, and given to every later run.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

from appliance.errors import SandboxError
from appliance.examination import Opener
from appliance.signals import Exhibit, Reading, Remark, Wanted, not_applicable
from appliance.signals.kept_values import Kept
from appliance.signals.new_findings import Inspection, added, baseline, counted, remarks_on
from appliance.signals.start_tree import lacks_python as applies
from appliance.signals.start_tree import python_files
from appliance.signals.tool_jail import run_tool

__all__ = ["CONFIG", "LANGUAGE", "OPTIONS", "ROLES", "TOOLS", "applies", "inspect", "read"]

ROLES = ("secondary", "gate", "monitor")
OPTIONS = ("allowance",)
TOOLS = ("mypy",)
LANGUAGE = "python"
STEP = 0.25
"""What an error costs."""

_ANNOTATION = frozenset({"no-untyped-def", "var-annotated"})
"""What mypy says where an annotation is missing, which is no contradiction in the code."""
_TREE = "tree"
_MYPY = (
    "python3", "-I", "-m", "mypy", "--config-file=", "--cache-dir=/work/cache", "--sqlite-cache",
    "--no-site-packages", "--namespace-packages", "--explicit-package-bases", "--ignore-missing-imports",
    "--check-untyped-defs", "--disallow-untyped-defs", "--output=json", "--no-error-summary", "--",
)  # fmt: skip
_WARM_MODULES = (
    "abc", "array", "ast", "base64", "bisect", "collections", "contextlib", "copy", "csv", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools", "json", "logging", "math",
    "operator", "os", "pathlib", "queue", "random", "re", "string", "struct", "sys", "textwrap", "threading", "time",
    "typing",
)  # fmt: skip
_SILENCERS = (
    (re.compile(rb"type:(\s*)ignore"), rb"type-\1ignore"),
    (re.compile(rb"#(\s*)mypy:"), rb"#\1mypy-"),
    # A decorator that has a function left out is one that does nothing, of the same length.
    (re.compile(rb"\bno_type_check\b"), rb"no_type_chack"),
)
CONFIG = json.dumps([_MYPY, _WARM_MODULES, [str(pattern.pattern) for pattern, _ in _SILENCERS]])
_WARM_UP = "".join(f"import {module}\n" for module in _WARM_MODULES).encode()
_caches: Kept[Mapping[str, bytes]] = Kept(2)


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: errors that the submission adds."""
    start = python_files(exhibit.start)
    before = baseline(exhibit, CONFIG, inspect) if start else Inspection()
    if before.blocked:
        return not_applicable(f"mypy cannot check the start: {before.blocked}")
    found = added(exhibit, CONFIG, inspect, whole=True)
    if not _is_annotated(start, before.remarks):
        kept = tuple(remark for remark in found.remarks if remark.code not in _ANNOTATION)
        found = Inspection(kept, found.blocked)
    return counted(found, wanted, STEP)


def _is_annotated(start: Mapping[str, bytes], remarks: tuple[Remark, ...]) -> bool:
    """Whether the start has functions, and a type for all that they take and give."""
    return any(b"->" in body for body in start.values()) and all(
        remark.code not in _ANNOTATION for remark in remarks
    )


def inspect(exhibit: Exhibit, files: Mapping[str, bytes]) -> Inspection:
    """What mypy says about a tree."""
    names = importable(files)
    tree = {f"{_TREE}/{inside}": _blunted(files[name]) for inside, name in names.items()}
    script = f'cp -r /job/cache /work/cache && cd /job/{_TREE} && exec "$@"'
    command = ["sh", "-c", script, "sh", *_MYPY, *(f"./{inside}" for inside in names)]
    cache = {f"cache/{name}": body for name, body in _cache(exhibit.tools).items()}
    env = (("MYPYPATH", f"/job/{_TREE}"),)
    ran = run_tool(exhibit.tools, command, {**tree, **cache}, exits=(0, 1), env=env)
    rows = list(_rows(ran.stdout))
    if ran.trouble:
        told = [str(row.get("message")) for row in rows] or [ran.trouble]
        return Inspection(blocked=told[0])
    found = (
        (
            str(row["code"] or "error"),
            names.get(row["file"].removeprefix("./"), ""),
            int(row["line"]),
            str(row["message"]),
        )
        for row in rows
        if row["severity"] == "error"
    )
    return Inspection(remarks_on(files, found))


def importable(files: Mapping[str, bytes]) -> dict[str, str]:
    """A name for each file that mypy takes for a module, with its own: it refuses a tree with a folder `my-scripts`."""
    found: dict[str, str] = {}
    for name in sorted(files, key=lambda name: (not _is_importable(name), name)):
        *folders, base = name.split("/")
        stem, _, suffix = base.rpartition(".")
        inside = "/".join(map(_identifier, [*folders, stem]))
        while f"{inside}.{suffix}" in found:
            inside += "_"
        found[f"{inside}.{suffix}"] = name
    return found


def _is_importable(name: str) -> bool:
    return all(part.isidentifier() for part in name.rpartition(".")[0].split("/"))


def _identifier(part: str) -> str:
    return part if part.isidentifier() else f"_{re.sub(r'[^a-zA-Z0-9_]', '_', part)}"


def _blunted(body: bytes) -> bytes:
    """The same lines and columns, without what would silence mypy."""
    for pattern, harmless in _SILENCERS:
        body = pattern.sub(harmless, body)
    return body


def _rows(stdout: bytes) -> Iterator[dict[str, Any]]:
    """mypy's answers, one a line; what is no answer is left out."""
    for line in stdout.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and {"file", "line", "code", "severity", "message"} <= row.keys():
            yield row


def _cache(tools: Opener) -> Mapping[str, bytes]:
    return _caches.get("cache", lambda: _warmed(tools))


def _warmed(tools: Opener) -> Mapping[str, bytes]:
    """What mypy knows after it has read the stubs of the common modules. SandboxError when it could not."""
    script = '"$@" >&2 && tar -C /work/cache -cf - .'
    command = ["sh", "-c", script, "sh", *_MYPY, "/job/appliance_warm_up.py"]
    ran = run_tool(tools, command, {"appliance_warm_up.py": _WARM_UP})
    if ran.trouble:
        raise SandboxError(f"mypy does not run in a jail: {ran.trouble}")
    with tarfile.open(fileobj=io.BytesIO(ran.stdout)) as archive:
        files = ((found.name.removeprefix("./"), archive.extractfile(found)) for found in archive)
        return {name: file.read() for name, file in files if file is not None}
