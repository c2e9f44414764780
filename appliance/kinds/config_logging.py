"""Python's `logging`: a configuration is loaded in a process of its own, records are made, and what arrived is read.

A `.json` file goes to `logging.config.dictConfig`, any other to `fileConfig`. Files that handlers write lie in the
current folder. A question: `emit`, a list of [logger, level, message]; `look`, the sinks to read afterwards: `stdout`,
`stderr`, or the name of a file. The answer: the lines of each sink, null for a file that is not there.
"""

from __future__ import annotations

import json
import logging.config
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import lines, run

FOLDER = Path("/work/log")


def answer(ask: dict[str, Any], files: Sequence[Path]) -> dict[str, list[str] | None]:
    FOLDER.mkdir()
    order = json.dumps({"file": str(files[0]), "emit": ask["emit"]})
    command = ("python3", "-S", "-s", "-B", "-X", "utf8", __file__)
    stdout, stderr = run(
        command, cwd=str(FOLDER), stdin=order, env={"PATH": os.environ["PATH"], "PYTHONPATH": "/job"}
    )
    written = {"stdout": stdout, "stderr": stderr}
    return {sink: _split(written[sink] if sink in written else _read(sink)) for sink in ask["look"]}


def _split(text: str | None) -> list[str] | None:
    return None if text is None else lines(text)


def _read(name: str) -> str | None:
    try:
        return (FOLDER / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def load(path: str) -> None:
    """Configure this process; whatever the file makes wrong ends it."""
    if not path.endswith(".json"):
        logging.config.fileConfig(path, disable_existing_loggers=False, encoding="utf-8")
        return
    logging.config.dictConfig(json.loads(Path(path).read_text(encoding="utf-8")))


def main() -> None:
    order = json.load(sys.stdin)
    try:
        load(order["file"])
    except (ValueError, TypeError, KeyError, AttributeError, OSError, ImportError, RuntimeError) as error:
        sys.exit(f"{type(error).__name__}: {error}; {error.__cause__ or ''}")
    for name, level, message in order["emit"]:
        logging.getLogger(name).log(logging.getLevelNamesMapping()[level], message)


if __name__ == "__main__":
    main()
