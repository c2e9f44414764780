"""What a `function` task holds and how an answer is compared: cases, relations, and the replies of a worker."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import values
from appliance.dialogue import Broken
from appliance.errors import TaskError
from appliance.examination import Layer, Outcome
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.tables import Field, check_table

GOLD = "solution/solution.py"
PUBLIC = "public/examples.json"
HIDDEN = "tests/cases.json"
GENERATOR = "tests/generator.py"
CHECK = "tests/check.py"

RELATIONS = ("equal", "differs", "reversed", "negated", "same_bag", "not_less")

_CASE = {
    "args": Field(list),
    "kwargs": Field(dict, required=False),
    "raises": Field(str, required=False),
    "tolerance": Field(float, required=False, minimum=0),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what must come back: a value in normal form, or the name of an exception."""

    layer: Layer
    index: int
    args: list[values.Tree]
    kwargs: dict[str, values.Tree]
    expected: values.Tree = None
    raises: str = ""
    tolerance: float | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions and what must hold between their answers, whatever they are."""

    layer: Layer
    index: int
    relation: str
    first: list[values.Tree]
    second: list[values.Tree]
    tolerance: float | None = None


Question = Case | Pair


@dataclass(frozen=True, slots=True)
class Material:
    """The files of a task that decide, read once."""

    public: tuple[Case, ...]
    hidden: tuple[Case, ...]
    gold: bytes
    generator: bytes
    """Empty when there is none."""
    check: bytes
    """Empty when there is none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply of a worker, found to be one."""

    outcome: str
    """`value`, `raised` or `unencodable`."""
    tree: values.Tree = None
    """In normal form."""
    family: tuple[str, ...] = ()
    """Built-in classes of the exception, the most specific first."""
    text: str = ""
    """Candidate text, for the evidence."""
    message: str = ""
    """Candidate text: what an exception says."""


def material(task: Task) -> Material:
    """What the task holds, and only while its folder still is what it was loaded from."""
    return _pinned(task.folder, task.public_hash, task.hidden_hash)


@functools.lru_cache(maxsize=512)
def _pinned(folder: str, public: str, hidden: str) -> Material:
    root = Path(folder)
    check_unchanged(root, public, hidden)
    bodies = [(root / name).read_bytes() if (root / name).is_file() else b"" for name in (GENERATOR, CHECK)]
    return Material(
        read_cases(root, "quick"), read_cases(root, "hidden"), (root / GOLD).read_bytes(), *bodies
    )


def read_cases(folder: Path, layer: Layer) -> tuple[Case, ...]:
    """The public or hidden cases of a task folder, checked; none when there is no such file."""
    path = folder / (PUBLIC if layer == "quick" else HIDDEN)
    if not path.is_file():
        return ()
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write a JSON list of cases") from None
    if type(rows) is not list or not rows:
        raise TaskError(f"{path}: not a list of cases, or an empty one", remedy="write at least one case")
    return tuple(read_case(f"{path}: case {index}", layer, index, row) for index, row in enumerate(rows))


def read_case(where: str, layer: Layer, index: int, row: values.Tree) -> Case:
    """One case of a file, found at `where`; TaskError when it is none."""
    if type(row) is not dict or ("expected" in row) == ("raises" in row):
        raise TaskError(
            f"{where}: not an object with either 'expected' or 'raises'", remedy="write one of them"
        )
    check_table(where, {key: item for key, item in row.items() if key != "expected"}, _CASE, TaskError)
    raises, kwargs = row.get("raises", ""), row.get("kwargs", {})
    if raises and not is_exception(raises):
        raise TaskError(f"{where}: field 'raises': {raises!r} is not a built-in exception")
    try:
        values.normal(row["args"])
        values.normal({"$tuple": list(kwargs.values())})
        expected = values.normal(row.get("expected"))
    except values.ValueFault as error:
        remedy = 'write plain JSON, or a tag such as {"$tuple": [..]} for other types'
        raise TaskError(f"{where}: {error}", remedy=remedy) from None
    return Case(layer, index, row["args"], kwargs, expected, raises, row.get("tolerance"))


def is_exception(name: object) -> bool:
    """Whether a built-in exception is called that."""
    found = getattr(builtins, name, None) if isinstance(name, str) else None
    return isinstance(found, type) and issubclass(found, BaseException)


def read_reply(reply: Mapping[str, Any]) -> Answer:
    """The answer in a reply; Broken when it is not a reply at all."""
    match dict(reply):
        case {"value": tree, **rest} if not rest:
            try:
                return Answer("value", values.normal(tree))
            except values.ValueFault as error:
                raise Broken("malformed", str(error)) from None
        case {"raised": list(family), "text": str(text), "message": str(message), **rest} if not rest:
            return Answer("raised", None, tuple(filter(is_exception, family)), text, message)
        case {"unencodable": str(text), **rest} if not rest:
            return Answer("unencodable", text=text)
    raise Broken("malformed", "not a reply")


def judge_reply(case: Case, reply: Mapping[str, Any]) -> Outcome:
    """Compare one reply with its case; Broken when it is not a reply at all."""
    return judge_answer(case, read_reply(reply))


def judge_answer(case: Case, answer: Answer) -> Outcome:
    """Compare an answer with its case."""
    if answer.outcome != "value":
        right = bool(case.raises) and raised(case.raises, answer.family)
        return Outcome(case.layer, case.index, "correct" if right else answer.outcome, answer.text)
    got = values.dumps(answer.tree).decode()
    if case.raises:
        return Outcome(case.layer, case.index, "no_raise", got)
    same = values.compare(case.expected, answer.tree, case.tolerance)
    return Outcome(case.layer, case.index, "correct" if same else "wrong_value", got)


def raised(wanted: str, family: tuple[str, ...]) -> bool:
    """Whether an exception of this family is the wanted one or of a class below it.

    The most specific built-in class decides: an exception of several that have nothing to do with each other would
    otherwise be right whichever of them is wanted.
    """
    return bool(family) and issubclass(getattr(builtins, family[0]), getattr(builtins, wanted))


def judge_pair(pair: Pair, first: Answer, second: Answer) -> Outcome:
    """Whether the relation of a pair holds between two answers."""
    for answer in (first, second):
        if answer.outcome != "value":
            return Outcome(pair.layer, pair.index, answer.outcome, answer.text)
    got = f"{values.dumps(first.tree).decode()} and {values.dumps(second.tree).decode()}"
    holds = related(pair.relation, first.tree, second.tree, pair.tolerance)
    return Outcome(pair.layer, pair.index, "correct" if holds else "relation_broken", got)


def related(relation: str, first: values.Tree, second: values.Tree, tolerance: float | None) -> bool:
    """Whether `relation` holds between two trees in normal form; of values it is not meant for, none does."""
    if relation in ("equal", "differs"):
        return values.compare(first, second, tolerance) == (relation == "equal")
    if relation in ("negated", "not_less"):
        if type(first) not in (int, float) or type(second) is not type(first):
            return False
        return bool(second >= first) if relation == "not_less" else values.compare(-first, second, tolerance)
    one, other = _items(first), _items(second)
    if one is None or other is None or type(first) is not type(second):
        return False
    if relation == "reversed":
        return values.compare(one[::-1], other, tolerance)
    return sorted(map(values.dumps, one)) == sorted(map(values.dumps, other))


def _items(tree: values.Tree) -> list[values.Tree] | None:
    """The members of a list, a tuple or a text, in their order."""
    if type(tree) is dict:
        tree = tree.get("$tuple")
    return list(tree) if type(tree) in (list, str) else None
