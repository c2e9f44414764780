"""logrotate: run on a fresh tree with a state file of its own, after which the tree is looked at.

A question: `tree`, files by their path below /work, each with `text` and optionally `mode` and `days`, its age;
`rotated`, days since the last rotation of a path, for rules that depend on time; `force`; `runs`; and `look`, which is
`names`, `texts` or `modes`. The answer is about everything in the folders of the tree; the text of a compressed file is
what was compressed.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import Refused, run

LOGROTATE = "/usr/sbin/logrotate"
WORK = Path("/work")
STATE = WORK / "state"
DAY_S = 86_400
TEXT_BYTES = 65_536


def answer(ask: dict[str, Any], files: Sequence[Path]) -> list[str] | dict[str, str]:
    for name, one in ask["tree"].items():
        _lay_out(WORK / name, one)
    _write_state(ask.get("rotated", {}))
    force = ("-f",) if ask.get("force") else ()
    for _ in range(ask.get("runs", 1)):
        _, complaints = run((LOGROTATE, "-s", str(STATE), *force, str(files[0])))
        if "error:" in complaints:
            raise Refused(complaints)
    folders = sorted({(WORK / name).parent for name in ask["tree"]})
    paths = sorted(set(_below(folders)))
    if ask["look"] == "names":
        return [_short(path) for path in paths]
    show = _text if ask["look"] == "texts" else _mode
    return {_short(path): show(path) for path in paths}


def _lay_out(path: Path, one: Mapping[str, Any]) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(one["text"], encoding="utf-8")
    path.chmod(int(one.get("mode", "0644"), 8))
    written = time.time() - one.get("days", 0) * DAY_S
    os.utime(path, (written, written))


def _write_state(rotated: Mapping[str, float]) -> None:
    lines = ["logrotate state -- version 2"]
    for name, days in rotated.items():
        then = time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime(time.time() - days * DAY_S))
        lines.append(f'"/work/{name}" {then}')
    STATE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _below(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _short(path: Path) -> str:
    return path.relative_to(WORK).as_posix()


def _text(path: Path) -> str:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(TEXT_BYTES).decode("utf-8", "replace")
    except (OSError, EOFError) as error:
        return f"unreadable: {error}"


def _mode(path: Path) -> str:
    return f"{path.lstat().st_mode & 0o7777:04o}"
