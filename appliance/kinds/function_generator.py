"""Draws the random inputs of a `function` task: runs the task's generator in a jail of its own, for one answer.

/job/generator.py may define `cases(random)`, which yields the arguments of a call, and `relations(random)`, which
yields `(family, relation, arguments, other arguments)`. Both are given a seeded `random.Random`, and are asked for
as many as the task promises.
"""

from __future__ import annotations

import itertools
import os
import random
import types
from collections.abc import Iterable
from typing import Any

from appliance.kinds.function_tester import tree_of
from appliance.kinds.function_worker import describe, read_request, send

GENERATOR = "/job/generator.py"


def drawn(request: dict[str, Any]) -> dict[str, Any]:
    """The inputs, or why there are none."""
    module = types.ModuleType("generator")
    try:
        with open(GENERATOR, "rb") as file:  # noqa: PTH123 - pathlib costs more to import than the rest
            exec(compile(file.read(), GENERATOR, "exec", dont_inherit=True), module.__dict__)
        cases = take(module, "cases", request["seed"], request["cases"])
        relations = take(module, "relations", request["seed"], request["relations"])
        return {
            "cases": [arguments(case) for case in cases],
            "relations": [
                [family, relation, arguments(first), arguments(second)]
                for family, relation, first, second in relations
            ],
        }
    except BaseException as fault:  # noqa: BLE001 - the generator raises what it likes
        return {"failed": describe(fault)}


def take(module: types.ModuleType, name: str, seed: int, count: int) -> list[Any]:
    """The first `count` that a function of the generator yields, each function with randomness of its own."""
    if not count:
        return []
    source: Iterable[Any] = getattr(module, name)(random.Random(f"{seed}:{name}"))
    return list(itertools.islice(source, count))


def arguments(given: Any) -> list[Any]:
    """The trees of a list or a tuple of arguments."""
    if type(given) not in (list, tuple):
        raise TypeError(f"arguments as a {type(given).__name__}, not as a list")
    return [tree_of(item) for item in given]


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    while request := read_request(source):
        send(sink, {"case": request["case"], **drawn(request)}, keep_order=True)


if __name__ == "__main__":
    main()
