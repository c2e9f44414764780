"""The candidate's half of a `function` judging, run inside the jail by /job/worker.py.

It loads /job/solution.py and answers calls, one frame for each request, on the pair of descriptors named by
APPLIANCE_CHANNEL. It shares its process with the candidate and therefore decides nothing: it knows no expected
value, and whatever a hostile solution makes it send is only an answer to be compared elsewhere.
"""

from __future__ import annotations

import builtins
import os
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

from appliance.values import ValueFault, decode, dumps, encode, loads

SOLUTION = "/job/solution.py"
TEXT_CAP = 300
_HEADER = struct.Struct(">I")

Reply = dict[str, Any]


def read_exactly(source: int, count: int) -> bytes:
    """Read `count` bytes, fewer only at the end of the stream."""
    body = b""
    while len(body) < count:
        part = os.read(source, count - len(body))
        if not part:
            break
        body += part
    return body


def read_request(source: int) -> dict[str, Any] | None:
    """The next request, None when the judge is gone. Nothing is sent ahead, so one read is a frame, or a part."""
    frame = os.read(source, 65536)
    if frame and len(frame) < _HEADER.size:
        frame += read_exactly(source, _HEADER.size - len(frame))
    if len(frame) < _HEADER.size:
        return None
    size = _HEADER.size + _HEADER.unpack_from(frame)[0]
    request: dict[str, Any] = loads(frame[_HEADER.size :] + read_exactly(source, size - len(frame)))
    return request


def send(sink: int, reply: Reply, *, keep_order: bool = False) -> None:
    """Write one frame whole."""
    body = dumps(reply, keep_order=keep_order)
    frame = memoryview(_HEADER.pack(len(body)) + body)
    while frame:
        frame = frame[os.write(sink, frame) :]


def message(fault: BaseException) -> str:
    """What the exception says; nothing when that cannot be found out."""
    try:
        given = fault.args
        return given[0] if len(given) == 1 and type(given[0]) is str else str(fault)
    except BaseException:  # noqa: BLE001 - the message is candidate code
        return ""


def describe(fault: BaseException) -> str:
    """Type, message and the last line of the solution that the exception went through."""
    text = f"{type(fault).__name__}: {message(fault)}"
    line, trace = 0, fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOLUTION:
            line = trace.tb_lineno
        trace = trace.tb_next
    return text[:TEXT_CAP] + (f" (line {line})" if line else "")


def names(fault: BaseException) -> list[str]:
    """The built-in classes the exception belongs to, most specific first."""
    family = type.mro(type(fault))
    return [kind.__name__ for kind in family if getattr(builtins, kind.__name__, None) is kind]


def load(entry: str) -> tuple[Callable[..., Any] | None, Reply]:
    """Execute the solution and find its entry point."""
    module = types.ModuleType("solution")
    module.__file__ = SOLUTION
    sys.modules["solution"] = module
    try:
        with open(SOLUTION, "rb") as file:  # noqa: PTH123 - pathlib costs more to import than the rest
            code = compile(file.read(), SOLUTION, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SyntaxError as fault:
        return None, {"failed": "syntax_error", "text": describe(fault)}
    except BaseException as fault:  # noqa: BLE001 - candidate code raises what it likes
        return None, {"failed": "load_error", "text": describe(fault)}
    found = module.__dict__.get(entry)
    if not callable(found):
        return None, {"failed": "no_entry_point", "text": f"{entry} is not a callable of the module"}
    return found, {"loaded": True}


def call(function: Callable[..., Any], request: dict[str, Any], cap: int) -> Reply:
    """One case: fresh arguments in, the canonical value or the exception out."""
    args, kwargs = decode(request["args"]), decode(request["kwargs"])
    try:
        value = function(*args, **kwargs)  # type: ignore[misc, arg-type]
    except BaseException as fault:  # noqa: BLE001 - candidate code raises what it likes
        return {"raised": names(fault), "text": describe(fault), "message": message(fault)[:TEXT_CAP]}
    try:
        tree = encode(value)
        size = len(dumps(tree))
    except ValueFault as fault:
        return {"unencodable": str(fault)[:TEXT_CAP]}
    return {"value": tree} if size <= cap else {"unencodable": f"a value of {size} bytes"}


def serve(source: int, sink: int) -> None:
    """Answer until the judge ends the conversation or goes away."""
    function: Callable[..., Any] | None = None
    while request := read_request(source):
        if request["op"] == "load":
            function, reply = load(request["entry"])
        elif request["op"] == "call" and function is not None:
            reply = call(function, request, request["cap"])
        else:
            reply = {"end": True}
        send(sink, {"case": request["case"], **reply})
        if request["op"] == "end":
            return


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    leave = os._exit
    serve(source, sink)
    # Exit handlers and threads of the candidate have nothing left to say.
    leave(0)


if __name__ == "__main__":
    main()
