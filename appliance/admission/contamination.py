"""Whether texts that are to be trained on hold what belongs to eval tasks: a canary, or a copy of statement or gold.

`Guard(tasks).contamination_of(texts)` is for whoever makes a batch of SFT rows or of updates: a batch with a finding is
refused. It compares exact runs of words, so that it is cheap enough for every batch; likeness is what
`appliance.admission.duplicates` looks for.
"""

from __future__ import annotations

import ast
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from appliance.admission.fingerprints import LONG_RUN, is_gold
from appliance.admission.texts import part, tokens, windows, words
from appliance.nouns import Task

GOLD_RUN = 25
"""Tokens of a gold in a row that are no idiom."""
SHORTEST_STATEMENT, SHORTEST_GOLD = 6, 13
"""A text that is shorter than a run is looked for as a whole; one with fewer words or tokens than these is not."""
_NAMESPACE = uuid.UUID("5b0f7c1e-9f0b-4f52-9d0e-4a1c6a1d7e30")

Reader = Callable[[Task], Iterator[list[str]]]
"""The texts of a task, each as a row of words or tokens."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A text that holds something of an eval task."""

    index: int
    """Which of the texts."""
    key: str
    what: str
    """`canary`, `statement` or `gold`."""


def canary_of(task: Task) -> str:
    """The GUID that marks copies of an eval task: the field `canary` of its pool.toml, else one made of its key."""
    return task.canary or made_canary(task.key)


def made_canary(key: str) -> str:
    """A GUID for the task of that key, the same on every machine (RFC 4122, version 5)."""
    return str(uuid.uuid5(_NAMESPACE, key))


class Guard:
    """What is secret of the eval and canary tasks among some tasks. What train tasks say as well is none."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        kept = [task for task in tasks if task.split != "train"]
        open_ = [task for task in tasks if task.split == "train"]
        self._canaries = {canary_of(task): task.key for task in kept}
        self._statements = _runs(kept, open_, _statements, LONG_RUN, SHORTEST_STATEMENT)
        self._golds = _runs(kept, open_, _golds, GOLD_RUN, SHORTEST_GOLD)

    def contamination_of(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The keys of the tasks of which any of the texts holds something, sorted; nothing where all are clean."""
        return tuple(sorted({finding.key for finding in self.findings(texts)}))

    def findings(self, texts: Iterable[str]) -> list[Finding]:
        """Each text with each task that it holds something of, and what; in the order of the texts."""
        found = dict.fromkeys(
            Finding(index, key, what) for index, text in enumerate(texts) for key, what in self._found(text)
        )
        return list(found)

    def _found(self, text: str) -> Iterator[tuple[str, str]]:
        low = text.lower()
        for canary, key in self._canaries.items():
            if canary in low or canary.replace("-", "") in low:
                yield key, "canary"
        for parts, runs, what in (
            (words(text), self._statements, "statement"),
            (tokens(text), self._golds, "gold"),
        ):
            for length, known in runs.items():
                if len(parts) >= length:
                    yield from ((known[run], what) for run in windows(parts, length) if run in known)


def _runs(
    kept: Sequence[Task], open_: Sequence[Task], read: Reader, length: int, shortest: int
) -> dict[int, dict[tuple[str, ...], str]]:
    """The runs of the kept tasks that the open ones do not have."""
    found: dict[int, dict[tuple[str, ...], str]] = defaultdict(dict)
    for task in kept:
        for text in read(task):
            if len(text) >= shortest:
                for run in windows(text, length):
                    found[len(run)].setdefault(run, task.key)
    for size, known in found.items():
        for task in open_:
            for text in read(task):
                for run in windows(text, size):
                    known.pop(run, None)
    return dict(found)


def _statements(task: Task) -> Iterator[list[str]]:
    yield words(task.statement)


def _golds(task: Task) -> Iterator[list[str]]:
    """The tokens of each gold; of Python those of each function's body, which its start does not give."""
    names = ("solution/",) if task.split == "train" else tuple(filter(is_gold, part(task, "solution/")))
    for name, text in part(task, *names).items() if names else ():
        if name.endswith(".py"):
            yield from (tokens(body) for body in bodies(text))
        else:
            yield tokens(text)


def bodies(source: str) -> list[str]:
    """What the functions of a Python source do, without heads and docstrings; else, or without one, the source."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return [source]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [
                ast.get_source_segment(source, item) or "" for item in node.body if not is_docstring(item)
            ]
            found.append("\n".join(parts))
    return found or [source]


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
