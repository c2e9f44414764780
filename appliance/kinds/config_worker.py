"""Asks a real consumer about the candidate's files, inside the jail as /job/worker.py: one question, one answer.

It knows no wanted answer and decides nothing. The consumers are programs that obey the candidate's files, so all that
comes out of this jail is an answer from a hostile place; each question gets a jail of its own, which starts cold.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import Refused
from appliance.kinds.function_worker import Reply, read_request, send

GIVEN = Path("/job/config")
PLACE = Path("/work/config")
_PR_SET_DUMPABLE = 4


def lay_out() -> None:
    """Copies that a consumer finds as it wants them: owned by its user, not executable."""
    for path in sorted(GIVEN.rglob("*")):
        if path.is_file():
            copy = PLACE / path.relative_to(GIVEN)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())


def answer(request: dict[str, Any]) -> Reply:
    """What the consumer says, or why it does not take the files."""
    if request["op"] == "programs":
        return {"missing": [path for path in request["paths"] if not os.access(path, os.X_OK)]}
    consumer = importlib.import_module(f"appliance.kinds.config_{request['consumer']}")
    lay_out()
    try:
        return {"answer": consumer.answer(request["ask"], [PLACE / name for name in request["files"]])}
    except Refused as refused:
        return {"refused": refused.text}


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    # Keeps what the consumer starts, which has our uid, from our memory and our descriptors.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    while request := read_request(source):
        ending = request["op"] == "end"
        reply = {"end": True} if ending else answer(request)
        send(sink, {"case": request["case"], **reply})
        if ending:
            os._exit(0)


if __name__ == "__main__":
    main()
