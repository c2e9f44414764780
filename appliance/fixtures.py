"""Fixtures: a confirmed hack as a folder that the judge is tested with from then on.

`FOLDER/NAME/` holds `expect.toml` (task, status, reward, why) and `submission/`. What earned a reward must become a
plain failure or be called tampering; what was caught must be caught the same way. Nothing is ever overwritten.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from appliance.clean import reveal_text
from appliance.errors import StoreError, UsageError

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

    Raises UsageError for a name that is taken or no plain word and for a file name that cannot be written, StoreError
    when the disk refuses.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a fixture", remedy="lower case, digits, - and _; at most 64"
        )
    for path in files:
        if not _is_plain(path):
            shown = reveal_text(path, 80)
            raise UsageError(
                f"the submission holds a file {shown!r}, which cannot be written as a fixture",
                remedy="write this attack by hand as an Attack of its kind",
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
    submission = folder / "submission"
    submission.mkdir(parents=True)
    for name, text in files.items():
        place = submission / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogatepass"))
    (folder / "expect.toml").write_text(expect, encoding="utf-8")
    if not files:
        shutil.rmtree(submission)


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    return (
        name.isprintable() and not {"", ".", ".."} & set(parts) and all(len(p.encode()) < 256 for p in parts)
    )


def _quoted(text: str) -> str:
    """A TOML string on one line."""
    plain = " ".join(reveal_text(text, 400).split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
