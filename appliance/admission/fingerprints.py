"""What of a task is compared in the search for near-duplicates: statement, gold, test inputs, and their answers."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from appliance.admission.shingles import (
    Shingles,
    abstract_data,
    names_of,
    program_shingles,
    statement_shingles,
)
from appliance.admission.texts import part, whole_windows, words
from appliance.nouns import Task

LONG_RUN = 13
"""Words in a row that nobody writes twice by chance."""
_PLACES = ("environment/", "public/", "tests/", "hidden/", "solution/")
_ASKED = ("args", "kwargs", "ask", "call", "fixture", "arguments", "stdin", "input")
_ANSWERED = ("expected", "raises", "output", "stdout")
GENERATORS = ("tests/generator.py", "hidden/generator.py", "hidden/generate.py")
_DATA = (".in", ".sql", ".txt", ".csv")
_LONG, _HEAVIEST = 60, 4
"""Characters of an input that weigh 1, and the most that one weighs."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One task, or a foreign text, as sets. What a text does not have is empty."""

    key: str
    split: str
    cluster: str
    statement: Shingles
    gold: Shingles
    inputs: Mapping[str, int]
    """Hash of each test input, public or hidden, to what it weighs: from 1 to 4, a long one more than a number."""
    answers: Mapping[str, str]
    """Input to the hash of what is expected of it."""
    runs: frozenset[tuple[str, ...]]
    """13 words of the statement in a row."""
    vocabulary: frozenset[str]
    """The words of the statement but for numbers and the task's own names."""
    generator: Shingles
    """The programs that draw further cases."""


def fingerprint(task: Task) -> Fingerprint:
    """The fingerprint of a task, read from its folder."""
    return fingerprint_of(task.key, task.split, task.cluster, task.statement, part(task, *_PLACES))


def fingerprint_of(
    key: str, split: str, cluster: str, statement: str, files: Mapping[str, str]
) -> Fingerprint:
    """The fingerprint of a task in memory: its text files by their path below the task folder."""
    golds = {name: text for name, text in files.items() if is_gold(name)}
    code = golds | {
        name: text for name, text in files.items() if name.startswith(("environment/", "public/"))
    }
    names = frozenset().union(*(names_of(name, text) for name, text in code.items()))
    questions = {asked: (answer, weight) for asked, answer, weight in _questions(files)}
    generators = {name: text for name, text in files.items() if name in GENERATORS}
    return Fingerprint(
        key,
        split,
        cluster,
        statement_shingles(statement, names),
        _programs(golds),
        {asked: weight for asked, (_, weight) in questions.items()},
        {asked: answer for asked, (answer, _) in questions.items() if answer},
        frozenset(whole_windows(words(statement), LONG_RUN)),
        frozenset(word for word in words(statement) if word not in names and not word.isdigit()),
        _programs(generators),
    )


def _programs(files: Mapping[str, str]) -> Shingles:
    return frozenset().union(*(program_shingles(name, text) for name, text in files.items()))


def foreign(key: str, statement: str, program: str = "", *, split: str = "") -> Fingerprint:
    """The fingerprint of a text that is no task of ours, such as a row of SFT data: a prompt and a Python answer."""
    files = {"solution/solution.py": program} if program else {}
    return fingerprint_of(key, split, "", statement, files)


def is_gold(name: str) -> bool:
    """Whether a path of a task folder is part of the gold solution."""
    return name.startswith("solution/") and not name.startswith(("solution/alternatives/", "solution/cheat/"))


def _questions(files: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """Each test input, what is expected of it (empty: not written down), both as hashes, and its weight."""
    for name, text in sorted(files.items()):
        if not name.startswith(("tests/", "public/")):
            continue
        path = PurePosixPath(name)
        if name == "tests/check.py":
            yield from _asserted(text)
        elif path.suffix == ".json":
            yield from _rows(text)
        elif path.suffix in _DATA and text.strip():
            plain = " ".join(abstract_data(name, text))
            yield _hash(plain), _hash(files.get(str(path.with_suffix(".out")), "")), _weight(plain)


def _rows(text: str) -> Iterator[tuple[str, str, int]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        asked = {name: row[name] for name in _ASKED if row.get(name)}
        if asked:
            answer = _hash({name: row[name] for name in _ANSWERED if name in row})
            yield _hash(asked), answer, _weight(json.dumps(list(asked.values())))


def _asserted(text: str) -> Iterator[tuple[str, str, int]]:
    """The calls of `candidate` about literals, and what they are compared with."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and len(node.comparators) == 1:
            try:
                asked = [ast.literal_eval(argument) for argument in node.left.args]
                answer = ast.literal_eval(node.comparators[0])
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            yield _hash({"args": asked}), _hash({"expected": answer}), _weight(repr(asked))


def _weight(asked: str) -> int:
    return min(_HEAVIEST, 1 + len(asked) // _LONG)


def _hash(value: Any) -> str:
    """Of a text or a JSON value, the order of keys aside; empty for what is empty."""
    if not value:
        return ""
    body = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:24]
