"""V12: near-duplicates across splits, found with MinHash and confirmed exactly.

Three sets for each task: 5-shingles of the statement's words, 5-shingles of the gold's abstracted syntax, and the
hashes of its test inputs. Candidates come from locality-sensitive hashing (256 permutations, 32 bands of 8 rows) and
from shared inputs and runs of 13 words; each is confirmed by exact Jaccard similarity or containment. Short golds are
alike by nature ("return a + b"), so one kind of evidence alone counts only where it is strong.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from appliance.admission.check import Check
from appliance.admission.texts import abstracted, part, windows, words
from appliance.nouns import Task

SHINGLE, LONG_RUN = 5, 13
PERMUTATIONS, BANDS, ROWS = 256, 32, 8
ALIKE, EMBEDDED = 0.7, 0.5
SIZEABLE = 40
"""Shingles from which a gold or a statement says something by itself."""
TELLING = 12
"""Shingles from which a gold says something together with other evidence: fewer are an expression such as n / 3."""
FEW_INPUTS = 4


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What of a task is compared."""

    key: str
    split: str
    cluster: str
    statement: frozenset[Any]
    gold: frozenset[Any]
    inputs: frozenset[str]
    runs: frozenset[Any]
    """13 words of the statement in a row."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that are too alike, and by what."""

    first: str
    second: str
    splits: tuple[str, str]
    statement: float
    """Jaccard similarities."""
    gold: float
    inputs: float
    contained: float
    """The larger containment of statement or gold in the other."""
    why: str


def fingerprint(task: Task) -> Fingerprint:
    statement = windows(words(task.statement), SHINGLE)
    gold: set[Any] = set()
    for name, text in part(task, "solution/").items():
        if not name.startswith("solution/alternatives/"):
            gold |= windows(abstracted(text), SHINGLE)
    runs = {run for run in windows(words(task.statement), LONG_RUN) if len(run) == LONG_RUN}
    inputs = frozenset(_inputs(task))
    return Fingerprint(
        task.key, task.split, task.cluster, frozenset(statement), frozenset(gold), inputs, frozenset(runs)
    )


def _inputs(task: Task) -> Iterator[str]:
    """A hash of each test input: arguments, standard input, data."""
    for name, text in part(task, "tests/", "hidden/", "public/").items():
        if not name.endswith(".json"):
            if not name.endswith((".py", ".toml")):
                yield hashlib.sha256(text.encode()).hexdigest()
            continue
        try:
            rows = json.loads(text)
        except ValueError:
            continue
        for row in rows if isinstance(rows, list) else []:
            given = row.get("args", row.get("input")) if isinstance(row, dict) else None
            if given is not None:
                yield hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


class Index:
    """Fingerprints of many tasks, searched by likeness."""

    def __init__(self, prints: Iterable[Fingerprint]) -> None:
        from datasketch import MinHashLSH

        self._prints = {one.key: one for one in prints}
        self._lsh = [MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS)) for _ in range(2)]
        self._by_run: dict[Any, set[str]] = defaultdict(set)
        self._by_input: dict[str, set[str]] = defaultdict(set)
        for one in self._prints.values():
            for table, shingles in zip(self._lsh, (one.statement, one.gold), strict=True):
                if shingles:
                    table.insert(one.key, _minhash(shingles))
            for run in one.runs:
                self._by_run[run].add(one.key)
            for given in one.inputs:
                self._by_input[given].add(one.key)

    def pairs(self) -> list[Pair]:
        """Every pair across splits that is too alike."""
        found: dict[tuple[str, str], Pair] = {}
        for one in self._prints.values():
            for pair in self.of(one):
                found[min(pair.first, pair.second), max(pair.first, pair.second)] = pair
        return [found[key] for key in sorted(found)]

    def of(self, one: Fingerprint) -> list[Pair]:
        """The tasks of other splits that are too like this one, which need not be in the index."""
        found = []
        for key in sorted(self._candidates(one)):
            other = self._prints[key]
            if other.split != one.split and (pair := compare(one, other)):
                found.append(pair)
        return found

    def _candidates(self, one: Fingerprint) -> set[str]:
        near: set[str] = set()
        for table, shingles in zip(self._lsh, (one.statement, one.gold), strict=True):
            if shingles:
                near |= set(table.query(_minhash(shingles)))
        for run in one.runs:
            near |= self._by_run.get(run, set())
        shared: dict[str, int] = defaultdict(int)
        for given in one.inputs:
            for key in self._by_input.get(given, ()):
                shared[key] += 1
        near |= {key for key, times in shared.items() if times >= FEW_INPUTS}
        return near - {one.key}


def _minhash(shingles: Iterable[Any]) -> Any:
    from datasketch import MinHash

    found = MinHash(num_perm=PERMUTATIONS)
    found.update_batch([json.dumps(one).encode() for one in shingles])
    return found


def compare(one: Fingerprint, other: Fingerprint) -> Pair | None:
    """The pair when two tasks are too alike, None when they are not."""
    statement, gold = _jaccard(one.statement, other.statement), _jaccard(one.gold, other.gold)
    inputs = _jaccard(one.inputs, other.inputs)
    held = max(_containment(one.statement, other.statement), _containment(one.gold, other.gold))
    why = _why(one, other, statement, gold, inputs)
    if not why:
        return None
    splits = (one.split, other.split)
    return Pair(
        one.key, other.key, splits, round(statement, 3), round(gold, 3), round(inputs, 3), round(held, 3), why
    )


def _why(one: Fingerprint, other: Fingerprint, statement: float, gold: float, inputs: float) -> str:
    size = min(len(one.gold), len(other.gold))
    sizeable = size >= SIZEABLE
    if statement >= ALIKE:
        return "the statements are alike"
    if gold >= ALIKE and sizeable:
        return "the golds are alike"
    if size < TELLING:
        return ""
    if gold >= ALIKE and inputs >= EMBEDDED and min(len(one.inputs), len(other.inputs)) >= FEW_INPUTS:
        return "golds and test inputs are alike"
    if _containment(one.statement, other.statement) >= EMBEDDED and gold >= EMBEDDED:
        return "one statement holds the other, and the golds are alike"
    if one.runs & other.runs and gold >= EMBEDDED:
        return f"{LONG_RUN} words in a row, and the golds are alike"
    if _containment(one.gold, other.gold) >= 0.9 and sizeable:
        return "one gold holds the other"
    return ""


def _jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _containment(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


def check(task: Task, index: Index | None) -> Check:
    """Whether a task has a near-duplicate in another split of the tasks of an index."""
    name = "no duplicate across splits"
    if index is None:
        return Check("V12", name, "not_run", remedy="admit it together with its pack")
    found: Sequence[Pair] = index.of(fingerprint(task))
    if not found:
        return Check("V12", name, "passed", {"pairs": []})
    first = found[0]
    reason = f"like {first.second} of the split {first.splits[1]}: {first.why}"
    measured = {"pairs": [asdict(pair) for pair in found[:10]]}
    return Check("V12", name, "failed", measured, reason, "put both into one split and cluster, or drop one")
