"""systemd: what its own loader made of a unit, without a running systemd.

`systemd-analyze --user verify` loads units as a manager does, drop-ins included, and at log level `debug` prints every
property of the result; `security --offline` weighs a service; `calendar` computes when a timer elapses. The system
instance of the same loader needs /run/systemd, which no jail has; the two differ in defaults, not in how a file is
read. A question: `unit`, and any of `look` (property names as `verify` prints them), `security` (fields of its JSON)
and `elapses` with `from` and `times`. The answer has the same keys: lists of values, whether each setting is safe, and
the next times in UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import Refused, lines, run

ANALYZE = "/usr/bin/systemd-analyze"
RUNTIME = Path("/work/run")
_PROPERTY = re.compile(r"\t\t([A-Za-z][A-Za-z ]*): (.*)")
_COMMAND = re.compile(r"\t\t-> (Exec[A-Za-z]+):")
_LINE = re.compile(r"\t\t\tCommand Line: (.*)")
_ELAPSE = re.compile(r"(?:Next elapse|Iter\. #\d+): (.*)")


def answer(ask: dict[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    (RUNTIME / "systemd").mkdir(parents=True)
    unit = next((path for path in files if path.name == ask["unit"] and path.exists()), None)
    if unit is None:
        raise Refused(f"there is no {ask['unit']}")
    found = properties(unit)
    said: dict[str, Any] = {}
    if "look" in ask:
        said["look"] = {name: found.get(name, []) for name in ask["look"]}
    if "security" in ask:
        said["security"] = _safe(unit, ask["security"])
    if "elapses" in ask:
        said["elapses"] = [_elapses(one, ask["elapses"]) for one in found.get("OnCalendar", [])]
    return said


def properties(unit: Path) -> dict[str, list[str]]:
    """Every property that the loader prints of a unit, with all its values."""
    stdout, _ = _analyze("verify", "--man=no", str(unit), level="debug")
    _, _, told = stdout.partition(f"\t-> Unit {unit.name}:\n")
    found: dict[str, list[str]] = {}
    command = ""
    for line in lines(told):
        if line.startswith("\t-> "):
            break
        if match := _PROPERTY.fullmatch(line):
            found.setdefault(match[1], []).append(match[2])
        elif match := _COMMAND.fullmatch(line):
            command = match[1]
        elif match := _LINE.fullmatch(line):
            found.setdefault(command, []).append(match[1])
    return found


def _analyze(*words: str, level: str = "notice") -> tuple[str, str]:
    return run(
        (ANALYZE, "--user", *words),
        env={"XDG_RUNTIME_DIR": str(RUNTIME), "SYSTEMD_LOG_LEVEL": level, "TZ": "UTC"},
    )


def _safe(unit: Path, names: Sequence[str]) -> dict[str, bool | None]:
    stdout, _ = _analyze("security", "--offline=true", "--json=short", "--no-pager", str(unit))
    weighed = {row["json_field"]: row["set"] for row in json.loads(stdout)}
    return {name: weighed.get(name) for name in names}


def _elapses(expression: str, asked: dict[str, Any]) -> list[str]:
    words = (f"--iterations={int(asked['times'])}", f"--base-time={asked['from']}", expression)
    stdout, _ = _analyze("calendar", *words)
    return [match[1] for line in lines(stdout) if (match := _ELAPSE.fullmatch(line.strip()))]
