"""The plain verifier of an exported task: prints 1 or 0. It stands alone, in a container that is not ours.

Each case is a process of its own, so that one that hangs or ends early is one wrong answer. The candidate can read the
cases, which lie beside this file: it finds out what is wrong, and not who cheats.

    python3 appliance_runner.py APP          all cases; the reward on standard output
    python3 appliance_runner.py APP INDEX    one case of a function; its answer into the file of standard input
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 30
"""For one case or all assertions."""
PROGRAMS = {"python": [sys.executable], "sh": ["sh"], "bash": ["bash"]}


def main() -> None:
    plan = json.loads((HERE / "appliance_task.json").read_text())
    app = Path(sys.argv[1]) / plan["file"]
    if len(sys.argv) > 2:
        answer(plan, app, sys.argv[2])
    else:
        print(int(functions(plan, app) if plan["kind"] == "function" else programs(plan, app)))


def functions(plan: dict[str, Any], app: Path) -> bool:
    """Whether every fixed case is answered and the assertions hold."""
    path = HERE / "cases.json"
    cases = json.loads(path.read_text()) if path.is_file() else []
    right = all(is_right(plan, app, index, case) for index, case in enumerate(cases))
    return right and ("check" not in plan or told(app, "check") == {"held": True})


def is_right(plan: dict[str, Any], app: Path, index: int, case: dict[str, Any]) -> bool:
    """Whether one case is answered as it must be."""
    values = importlib.import_module("appliance_values")
    found = told(app, str(index))
    if "raises" in case:
        return case["raises"] in found.get("raised", [])
    tolerance = case.get("tolerance", plan.get("tolerance"))
    return "value" in found and values.compare(values.normal(case["expected"]), found["value"], tolerance)


def told(app: Path, what: str) -> dict[str, Any]:
    """What a process with the candidate in it writes down; nothing when it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "answer.json")
        words = [sys.executable, str(Path(__file__).resolve()), str(app.parent), what]
        environment = {**os.environ, "APPLIANCE_ANSWER": str(place)}
        try:
            subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, timeout=SECONDS)
            found = json.loads(place.read_text())
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
        return found if isinstance(found, dict) else {}


def answer(plan: dict[str, Any], app: Path, what: str) -> None:
    """Ask the candidate in this process, and write down what it says or raises."""
    values, place = importlib.import_module("appliance_values"), Path(os.environ["APPLIANCE_ANSWER"])

    def raised(kind: type[BaseException], fault: BaseException, trace: object) -> None:
        place.write_text(json.dumps({"raised": [item.__name__ for item in kind.__mro__]}))

    sys.excepthook = raised
    function = runpy.run_path(str(app))[plan["entry_point"]]
    if what == "check":
        globals_ = {plan["entry_point"]: function}
        runpy.run_path(str(HERE / "check.py"), globals_)[plan["check"]](function)
        place.write_text(json.dumps({"held": True}))
        return
    case = json.loads((HERE / "cases.json").read_text())[int(what)]
    arguments = [values.decode(item) for item in case["args"]]
    named = {name: values.decode(item) for name, item in case.get("kwargs", {}).items()}
    place.write_text(json.dumps({"value": values.encode(function(*arguments, **named))}))


def programs(plan: dict[str, Any], app: Path) -> bool:
    """Whether the program prints for every input what it must."""
    return all(printed(plan, app, path) for path in sorted(HERE.glob("*.in")))


def printed(plan: dict[str, Any], app: Path, path: Path) -> bool:
    """Whether it does so for one input."""
    words = [*PROGRAMS[plan["language"]], str(app)]
    try:
        done = subprocess.run(words, input=path.read_bytes(), stdout=subprocess.PIPE, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    wanted = path.with_suffix(".out").read_bytes()
    checker = plan.get("checker", "exact")
    return done.returncode == 0 and shape(checker, done.stdout) == shape(checker, wanted)


def shape(checker: str, body: bytes) -> object:
    """What of an output counts."""
    if checker == "exact":
        return body.removesuffix(b"\n")
    if checker == "tokens":
        return body.split()
    lines = [line.rstrip() for line in body.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return sorted(lines) if checker == "bag" else lines


if __name__ == "__main__":
    main()
