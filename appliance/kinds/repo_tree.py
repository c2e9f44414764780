"""What a `repo` task is made of: the code base, its suite, the lists of tests, and the paths a submission may change.

A submission holds files below the repository's root that replace or add. It cannot delete: no content can stand for
"not there" without being a file that somebody may want. What is in the task's folder is read once and kept by
its hashes.
"""

from __future__ import annotations

import ast
import functools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import values
from appliance.errors import TaskError
from appliance.kinds.function_cases import Case, read_case
from appliance.kinds.repo_stock import Stock
from appliance.kinds.repo_twins import Group, TwinFault, alone, find, group, literals
from appliance.manifest import check_unchanged, walk
from appliance.tables import Field, check_table

BASE = "environment/repo"
GOLD = "solution"
SUITE = "tests/suite"
MANIFEST = "tests/manifest.json"
PROBE = "tests/probe.json"
FEWEST = 8
"""Tests with a wrong form that a task without a probe must have: guessing them all succeeds once in 256 times."""
MAX_FILES, MAX_MIB = 2000, 32
"""Of a code base, so that it and what is added to it fits into a jail's job."""

_MANIFEST = {
    "FAIL_TO_PASS": Field(list),
    "PASS_TO_PASS": Field(list),
    "wrong_values": Field(dict, required=False),
}
_PROBED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class Listed:
    """One test of a list."""

    id: str
    path: str
    """Of its file, below the root of the repository."""
    owner: str
    """Its class; empty for a function of the module."""
    name: str
    text: str
    """Of its module, as it was before anybody submitted anything."""

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")


@dataclass(frozen=True, slots=True)
class Probe:
    """One call of the code base, and what must come back."""

    target: str
    case: Case


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is judged with."""

    base: Mapping[str, bytes]
    """The code base as the candidate found it."""
    support: Mapping[str, bytes]
    """Files of the suite that hold no listed test: helpers and data, laid into the tree."""
    public: tuple[tuple[Listed, str], ...]
    """Tests that passed before and that the candidate has seen, each as a text of its own."""
    kept: tuple[tuple[Listed, str], ...]
    """Tests that passed before and were never shown."""
    fixed: tuple[tuple[Listed, Group], ...]
    """Tests that must begin to pass, never shown, with their twins."""
    probes: tuple[Probe, ...]


def tree_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name relative to it; empty when there is no such folder."""
    if not folder.is_dir():
        return {}
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in walk(folder)}


def gold_of(folder: Path) -> dict[str, bytes]:
    """The gold's files; what lies in `alternatives/` are other right solutions, which no gold is made of."""
    return {
        name: body for name, body in tree_of(folder / GOLD).items() if not name.startswith("alternatives/")
    }


def matches(name: str, globs: Sequence[str]) -> bool:
    """Whether a name is one of `globs`, in which `*` stays within a folder and `**` does not."""
    return any(_pattern(glob).fullmatch(name) for glob in globs)


@functools.lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.DOTALL)


@functools.lru_cache(maxsize=128)
def pinned(folder: str, public: str, hidden: str) -> Material:
    """The material by content hash; IntegrityError when the folder is no longer what the task was loaded from."""
    check_unchanged(Path(folder), public, hidden)
    return read_material(Path(folder))


def read_material(folder: Path) -> Material:
    """The material of a task folder; TaskError when it cannot be judged with."""
    lists = _lists(folder / MANIFEST)
    base, suite = tree_of(folder / BASE), tree_of(folder / SUITE)
    if not base:
        raise TaskError(f"{folder}: {BASE} is missing or empty", remedy="put the untouched code base there")
    if len(base) > MAX_FILES or sum(map(len, base.values())) > MAX_MIB << 20:
        raise TaskError(
            f"{folder / BASE}: more than {MAX_FILES} files or {MAX_MIB} MiB", remedy="cut it down"
        )
    where = folder / MANIFEST
    fixed = [_test(where, name, suite) for name in lists["FAIL_TO_PASS"]]
    passed = [_either(where, name, base, suite) for name in lists["PASS_TO_PASS"]]
    public = [test for test, shown in passed if shown]
    if not fixed or not public:
        raise TaskError(
            f"{where}: no FAIL_TO_PASS, or no PASS_TO_PASS that the candidate sees",
            remedy=f"list tests of {SUITE} in the first, and some of {BASE} in the second",
        )
    for test in fixed:
        _check_unseen(where, test, base)
    kept = [test for test, shown in passed if not shown]
    homes = {test.path for test in (*fixed, *kept)}
    material = Material(
        base,
        {name: body for name, body in suite.items() if name not in homes},
        tuple((test, _alone(where, test)) for test in public),
        tuple((test, _alone(where, test)) for test in kept),
        tuple(_twinned(where, fixed, lists.get("wrong_values", {}))),
        tuple(_probes(folder / PROBE)),
    )
    _check_strength(where, material)
    return material


def _lists(path: Path) -> dict[str, Any]:
    try:
        found = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write a JSON object with the two lists") from None
    if type(found) is not dict:
        raise TaskError(f"{path}: not an object", remedy="write a JSON object with the two lists")
    check_table(str(path), found, _MANIFEST, TaskError)
    named = [*found["FAIL_TO_PASS"], *found["PASS_TO_PASS"]]
    if not all(type(name) is str for name in named) or len(set(named)) < len(named):
        raise TaskError(f"{path}: a test that is no string, or is listed twice", remedy="list each id once")
    return found


def _either(
    where: Path, name: str, base: Mapping[str, bytes], suite: Mapping[str, bytes]
) -> tuple[Listed, bool]:
    """A test of the code base, or else of the hidden suite; and whether it is the former."""
    try:
        return _test(where, name, base), True
    except TaskError:
        return _test(where, name, suite), False


def _test(where: Path, name: str, files: Mapping[str, bytes]) -> Listed:
    """The test of an id, as `package.module.Class.test` or `path/module.py::Class::test`."""
    for path, rest in _readings(name):
        if path in files and 1 <= len(rest) <= 2:
            try:
                text = files[path].decode("utf-8")
                find(ast.parse(text), rest[0] if rest[1:] else "", rest[-1])
            except (ValueError, SyntaxError) as error:
                raise TaskError(
                    f"{where}: {name!r}: {path}: {error}", remedy="name a test that is there"
                ) from None
            return Listed(name, path, rest[0] if rest[1:] else "", rest[-1], text)
    raise TaskError(
        f"{where}: {name!r} is in no file of {SUITE} or {BASE}",
        remedy="write package.module.Class.test; a test that must begin to pass lies in the hidden suite",
    )


def _readings(name: str) -> Iterator[tuple[str, list[str]]]:
    path, *rest = name.split("::")
    if rest:
        yield path, rest
        return
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:cut]) + ".py", parts[cut:]


def _check_unseen(where: Path, test: Listed, base: Mapping[str, bytes]) -> None:
    """Who has read a test knows which of its twins is the true one."""
    if test.path not in base:
        return
    try:
        _, seen = find(ast.parse(base[test.path]), test.owner, test.name)
    except (TwinFault, SyntaxError, ValueError):
        return
    _, hidden = find(ast.parse(test.text), test.owner, test.name)
    if ast.dump(seen) == ast.dump(hidden):
        raise TaskError(
            f"{where}: {test.id!r} stands in {BASE} too", remedy="what must begin to pass must be hidden"
        )


def _alone(where: Path, test: Listed) -> str:
    try:
        return alone(test.text, test.owner, test.name)
    except TwinFault as error:
        raise _unfit(where, test, error) from None


def _unfit(where: Path, test: Listed, error: TwinFault) -> TaskError:
    return TaskError(f"{where}: {test.id!r}: {error}", remedy="write it as a plain test")


def _twinned(
    where: Path, tests: Sequence[Listed], given: Mapping[str, Any]
) -> Iterator[tuple[Listed, Group]]:
    if unknown := set(given) - {test.id for test in tests}:
        raise TaskError(f"{where}: field 'wrong_values': {min(unknown)!r} is not in FAIL_TO_PASS")
    expected = {test.id: tuple(literals(test.text, test.owner, test.name)) for test in tests}
    for test in tests:
        siblings = [value for other, found in expected.items() if other != test.id for value in found]
        wrong = _given(where, test, given.get(test.id, []))
        # Seeded by what only the judge has read.
        stock = Stock(siblings, wrong, random.Random(f"{test.id}:{test.text}"))
        try:
            yield test, group(test.text, test.owner, test.name, stock)
        except TwinFault as error:
            raise _unfit(where, test, error) from None


def _given(where: Path, test: Listed, written: Any) -> list[Any]:
    try:
        if type(written) is not list:
            raise ValueError("not a list")
        return [ast.literal_eval(item) for item in written]
    except (ValueError, SyntaxError, TypeError) as error:
        raise TaskError(
            f"{where}: field 'wrong_values': {test.id!r}: {error}",
            remedy="write a list of Python literals as strings",
        ) from None


def _probes(path: Path) -> Iterator[Probe]:
    if not path.is_file():
        return
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write a JSON list of cases") from None
    if type(rows) is not list or not rows:
        raise TaskError(
            f"{path}: not a list of cases, or an empty one", remedy="write cases, or no such file"
        )
    for index, row in enumerate(rows):
        where = f"{path}: case {index}"
        target = row.get("call") if type(row) is dict else None
        if type(target) is not str or not _PROBED.fullmatch(target):
            raise TaskError(f"{where}: field 'call' is not module:function", remedy="name what is called")
        rest = {key: item for key, item in row.items() if key != "call"}
        yield Probe(target, read_case(where, "hidden", index, rest))


def _check_strength(where: Path, material: Material) -> None:
    """What a reader could tell apart is no evidence: something that it cannot must be there."""
    strong = sum(bool(twins.wrong) for _, twins in material.fixed)
    if not material.probes and strong < FEWEST:
        raise TaskError(
            f"{where}: {strong} tests of FAIL_TO_PASS compare with a literal at the top of the test, too few",
            remedy=f"add {PROBE}, or have {FEWEST} of them",
        )
