"""The image that the judge's own tools run in: ruff, mypy and bandit as installed beside us, and nothing else.

Tools read hostile files, so they run in jails like everything that does; their versions are those that the judge's
records name. The image is named after them: another version is another image.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from appliance.errors import NotFoundError
from appliance.sandbox.image import Image, prepare
from appliance.sandbox.images import store
from appliance.sandbox.images.interpreter import Interpreter, interpreter_at

TOOLS = ("bandit", "mypy", "ruff")
REMEDY = (
    "install what requirements.lock pins: pip install -c requirements.lock 'post-training-appliance[quality]'"
)

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def tool_versions() -> dict[str, str]:
    """The tools that are installed beside us, with their versions; one that is not there is left out."""
    found = {}
    for name in TOOLS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def tools_image_name() -> str:
    """The name of the image with the tools of these versions, for this Python."""
    body = json.dumps([sys.version, tool_versions()], sort_keys=True).encode()
    return f"judge-tools:{hashlib.sha256(body).hexdigest()[:12]}"


def prepare_tools(images: Path) -> str:
    """Make the image below `images` unless it is there, and return its name; NotFoundError when a tool is missing."""
    name = tools_image_name()
    if any(name in stored.names for stored in store.listing(images)):
        return name
    image = _made(images)
    store.assign(images, name, image.digest)
    return name


def _made(images: Path) -> Image:
    missing = sorted(set(TOOLS) - set(tool_versions()))
    if missing:
        raise NotFoundError(f"{', '.join(missing)} is not installed", remedy=REMEDY)
    return prepare(images, with_tools(interpreter_at(Path(sys.prefix))))


def with_tools(interpreter: Interpreter) -> Interpreter:
    """The interpreter with the tools and what they import, out of all that is installed for it."""
    wanted, programs, packages = set[str](), [], {}
    for found in _closure(list(TOOLS)):
        packages[found.name] = found.version
        for file in found.files or ():
            if file.parts[0] not in ("..", "__pycache__"):
                wanted.add(file.parts[0])
            elif file.name in TOOLS and "bin" in file.parts:
                programs.append(Path(str(file.locate())).resolve())
    return replace(
        interpreter,
        packages=tuple(sorted(packages.items())),
        wanted=tuple(sorted(wanted)),
        programs=tuple(sorted(programs)),
    )


def _closure(waiting: list[str]) -> Iterator[importlib.metadata.Distribution]:
    """The distributions of these names, and what they need as far as it is installed; no extras."""
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            # Needed on another system or an older Python only.
            continue
        if found.name in seen:
            continue
        seen.add(found.name)
        yield found
        for line in found.requires or ():
            project = _PROJECT.match(line)
            if project and "extra ==" not in line:
                waiting.append(project[0])
