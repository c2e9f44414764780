"""Fixtures: a confirmed hack as a folder that the judge is tested with from then on.

`FOLDER/NAME/` holds `expect.toml` (task, status, reward, why) and `submission/`, or `submission.json` for names that
no folder can hold, as `appliance judge attack --fixtures FOLDER` reads them. What earned a reward must become a
plain failure or be called tampering; what was caught must be caught the same way. Nothing is ever overwritten.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from appliance.attacks.run import ODD
from appliance.clean import reveal_text
from appliance.errors import StoreError, UsageError
from appliance.judge import is_plain

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
UNCAUGHT = "fail|tamper"
"""What the judge must come to say about a submission that it took for a solution."""


def write_fixture(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    *,
    task: str,
    status: str,
    reward: float | None,
    why: str,
) -> Path:
    """Write one fixture and return its folder; `status` and `reward` are those of the verdict so far.

    Raises UsageError for a name that is taken or no plain word, StoreError when the disk refuses.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a fixture", remedy="lower case, digits, - and _; at most 64"
        )
    if name.startswith("honest"):
        raise UsageError(
            f"{name!r} would stand for an honest submission", remedy="begin it with another word"
        )
    caught = reward == 0
    lines = {"task": task, "status": status if caught else UNCAUGHT, "why": why or "found by a reviewer"}
    expect = "".join(f"{key} = {_quoted(value)}\n" for key, value in lines.items()) + "reward = 0.0\n"
    target = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as draft:
            _write(Path(draft, "whole"), expect, files)
            _claim(target)
            Path(draft, "whole").rename(target)
    except OSError as error:
        raise StoreError(
            f"{error.filename or target}: {error.strerror}", remedy="free disk space, or give --to a folder"
        ) from error
    return target


def _claim(target: Path) -> None:
    """Take the name: of two who want it, one is refused."""
    try:
        target.mkdir()
    except FileExistsError:
        raise UsageError(f"{target} is there already", remedy="give the fixture another name") from None


def _write(folder: Path, expect: str, files: Mapping[str, str]) -> None:
    folder.mkdir()
    (folder / "expect.toml").write_text(expect, encoding="utf-8")
    bodies = {name: text.encode("utf-8", "surrogatepass") for name, text in sorted(files.items())}
    if not all(map(is_plain, bodies)):
        table = {name: base64.b64encode(body).decode() for name, body in bodies.items()}
        (folder / ODD).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        return
    for name, body in bodies.items():
        place = folder / "submission" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)


def _quoted(text: str) -> str:
    """A TOML string on one line."""
    plain = " ".join(reveal_text(text, 400).split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
