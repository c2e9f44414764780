"""The jail's half of a probe: calls functions of the candidate's code base, with no test anywhere near.

Run as /job/judge/appliance/kinds/repo_prober.py. It shares its process with the candidate and decides nothing: what it
sends are answers, to be compared elsewhere.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

sys.path.insert(0, "/job/judge")

from appliance.kinds.function_worker import Reply, call, describe, read_request, send

del sys.path[0]

ROOT = "/job/repo"


def find(target: str) -> Callable[..., Any]:
    """The function that `module:name` or `module:class.name` stands for."""
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


def answer(request: dict[str, Any]) -> Reply:
    """One call; a code base that cannot be imported has raised."""
    try:
        function = find(request["target"])
    except BaseException as fault:  # noqa: BLE001 - candidate code raises what it likes
        # Of no class: a case that expects an exception expects it of the call.
        return {"raised": [], "text": describe(fault), "message": ""}
    return call(function, request, request["cap"])


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    leave = os._exit
    os.chdir(ROOT)
    while request := read_request(source):
        if request["op"] != "call":
            send(sink, {"case": request["case"], "end": True})
            break
        sys.path += [root for root in request["roots"] if root not in sys.path]
        send(sink, {"case": request["case"], **answer(request)})
    # Exit handlers and threads of the candidate have nothing left to say.
    leave(0)


if __name__ == "__main__":
    main()
