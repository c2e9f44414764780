"""The tester of a `function` judging: runs a task's own assertions in a jail, with a proxy for the candidate.

Every call of the proxy is one frame to the judge, which asks the candidate in its own jail and sends back a
canonical value or the name of a built-in exception. What the assertions compare is therefore always a plain value
that this process made. It is the task author's code that runs here, so its word is believed; whether it can be is
for the gold solution to show.
"""

from __future__ import annotations

import builtins
import os
import random
import types
from typing import Any, NoReturn

from appliance.kinds.function_worker import read_request, send
from appliance.values import Tree, decode, encode

CHECK = "/job/check.py"


class Gone(BaseException):
    """The judge ended the conversation."""


class Channel:
    """Frames to the judge and back, each with the nonce of the question it answers."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._nonce = ""

    def receive(self) -> dict[str, Any]:
        request = read_request(self._source)
        if request is None:
            raise Gone
        self._nonce = request["case"]
        return request

    def say(self, reply: dict[str, Any]) -> None:
        send(self._sink, {"case": self._nonce, **reply}, keep_order=True)


class Proxy:
    """Stands for the candidate; `raised` is the exception that it let out last."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel = channel
        self.__name__ = name
        self.raised: BaseException | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named = {name: tree_of(item) for name, item in kwargs.items()}
        self._channel.say({"call": {"args": [tree_of(item) for item in args], "kwargs": named}})
        answer = self._channel.receive()
        if "raised" in answer:
            self._let_out(answer["raised"], answer["message"])
        return decode(answer["value"])

    def _let_out(self, family: list[str], text: str) -> NoReturn:
        """Raise the most specific built-in class that can be made of a text."""
        for name in [*family, "Exception"]:
            try:
                self.raised = getattr(builtins, name)(text)
            except TypeError:
                continue
            if self.raised is not None:
                raise self.raised
        raise AssertionError("an Exception can be made of any text")


def tree_of(value: Any) -> Tree:
    """As `encode`, but with the keys of a dict in the order they came in, which a candidate may see."""
    if type(value) is dict:
        plain = all(type(key) is str and not key.startswith("$") for key in value)
        pairs = [(tree_of(key), tree_of(item)) for key, item in value.items()]
        return dict(pairs) if plain else {"$dict": [list(pair) for pair in pairs]}
    if type(value) is list:
        return [tree_of(item) for item in value]
    if type(value) is tuple:
        return {"$tuple": [tree_of(item) for item in value]}
    return encode(value)


def examine(channel: Channel, request: dict[str, Any]) -> dict[str, Any]:
    """Run the assertions; say how that ended, in a word and the name of an exception, which tells no expected value."""
    proxy = Proxy(channel, request["entry"])
    # What the assertions draw is the same for all siblings of a group.
    random.seed(request["seed"])
    module = types.ModuleType("check")
    module.__dict__[request["entry"]] = proxy
    try:
        with open(CHECK, "rb") as file:  # noqa: PTH123 - pathlib costs more to import than the rest
            exec(compile(file.read(), CHECK, "exec", dont_inherit=True), module.__dict__)
        module.__dict__[request["check"]](proxy)
    except Gone:
        raise
    except BaseException as fault:  # noqa: BLE001 - the assertions raise what they like
        return {"ended": verdict_on(fault, proxy), "text": type(fault).__name__}
    return {"ended": "correct", "text": ""}


def verdict_on(fault: BaseException, proxy: Proxy) -> str:
    """Whose an exception is: the candidate's, an assertion's, or perhaps a fault of the assertions themselves."""
    if fault is proxy.raised:
        return "candidate_raised"
    return "assertion_failed" if isinstance(fault, AssertionError) else "check_fault"


def main() -> None:
    channel = Channel(*(int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(",")))
    try:
        channel.say(examine(channel, channel.receive()))
    except Gone:
        return


if __name__ == "__main__":
    main()
