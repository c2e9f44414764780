"""V12: near-duplicates across splits, found with MinHash and confirmed exactly.

Candidates come from locality-sensitive hashing of statement and gold (256 permutations, 32 bands of 8 rows: odds
1 - (1 - s^8)^32 for a Jaccard similarity s) and from what two tasks share that few others do: shingles, runs of 13
words, test inputs. Each is confirmed by exact Jaccard similarity and containment. Short golds are alike by nature
("return a + b") and so are the stock phrases of a pack, so evidence is combined, and what many tasks say is none.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from appliance.admission.check import Check
from appliance.admission.fingerprints import LONG_RUN, Fingerprint, fingerprint
from appliance.admission.shingles import Shingles
from appliance.nouns import Task

__all__ = ["Fingerprint", "Index", "Pair", "check", "fingerprint"]

PERMUTATIONS, BANDS, ROWS = 256, 32, 8
ALIKE, EMBEDDED = 0.7, 0.5
TOUCHED, SURE = 0.3, 0.9
SIZEABLE = 30
"""Shingles from which a program says something by itself: some ten statements."""
PHRASE = 8
"""Shingles of a statement that are a demand and no phrase."""
FEW_INPUTS = 4
STOCK = 6
"""Clusters that must use a shingle before it counts as a stock phrase."""
RARE = 40
"""Tasks that may share a shingle for it to lead from one to another."""
NAME = "no duplicate across splits"
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two tasks are, from 0 to 1; Jaccard similarities where nothing else is said."""

    statement: float
    gold: float
    inputs: float
    generator: float
    statement_held: float
    """Containment: the shared part of the smaller set."""
    gold_held: float
    inputs_held: float
    words: float
    """Cosine of the words of the statements, weighted by how rare they are."""
    words_held: float
    answers: float
    """The share of common inputs of which both expect the same."""
    shared_inputs: int
    """By weight."""
    asked: int
    """Common inputs with an answer on both sides."""
    kinds_of_answers: int
    """Different answers among those that agree."""
    runs: int
    """Runs of 13 words in common."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that are too alike, and by what."""

    first: str
    second: str
    splits: tuple[str, str]
    clusters: tuple[str, str]
    likeness: Likeness
    why: str

    def to_json(self) -> dict[str, Any]:
        figures = {
            name: round(getattr(self.likeness, name), 3) for name in ("statement", "gold", "inputs", "words")
        }
        held = max(self.likeness.statement_held, self.likeness.gold_held)
        return {
            "first": self.first,
            "second": self.second,
            "splits": list(self.splits),
            "clusters": list(self.clusters),
            **figures,
            "contained": round(held, 3),
            "why": self.why,
        }


class Index:
    """Fingerprints of many tasks, searched by likeness. Built once; what is asked about need not be in it."""

    def __init__(self, prints: Iterable[Fingerprint]) -> None:
        from datasketch import MinHashLSH

        raw = {one.key: one for one in prints}
        self._stock = _stock(raw.values())
        self._seen = Counter(word for one in raw.values() for word in one.vocabulary)
        self._prints = {key: self._telling(one) for key, one in raw.items()}
        self._near = [MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS)) for _ in range(2)]
        self._users: dict[Hashable, list[str]] = defaultdict(list)
        for one in self._prints.values():
            for table, shingles in zip(self._near, (one.statement, one.gold), strict=True):
                if shingles:
                    table.insert(one.key, _minhash(shingles))
            for trait in _traits(one):
                self._users[trait].append(one.key)

    def pairs(self) -> list[Pair]:
        """Every pair of train and eval tasks that is too alike, by key."""
        found: dict[tuple[str, str], Pair] = {}
        for one in self._prints.values():
            for pair in self.of(one):
                found.setdefault((min(pair.first, pair.second), max(pair.first, pair.second)), pair)
        return [found[key] for key in sorted(found)]

    def of(self, one: Fingerprint) -> list[Pair]:
        """The tasks that are too like this one and on the other side of train and eval."""
        return [pair for pair in self.like(one) if set(pair.splits) == {"train", "eval"}]

    def like(self, one: Fingerprint) -> list[Pair]:
        """The tasks of any split that are too like this one."""
        known = self._telling(one)
        found = (self._compared(known, self._prints[key]) for key in sorted(self._candidates(known)))
        return [pair for pair in found if pair]

    def _telling(self, one: Fingerprint) -> Fingerprint:
        """The fingerprint without stock phrases."""
        statement, runs = one.statement - self._stock, one.runs - self._stock
        return replace(one, statement=statement, runs=runs)

    def _candidates(self, one: Fingerprint) -> set[str]:
        near: set[str] = set()
        for table, shingles in zip(self._near, (one.statement, one.gold), strict=True):
            if shingles:
                near |= set(table.query(_minhash(shingles)))
        shared: Counter[str] = Counter()
        for trait in _traits(one):
            users = self._users.get(trait, ())
            if len(users) <= RARE:
                shared.update(dict.fromkeys(users, FEW_INPUTS if trait[0] == "run" else 1))
        near |= {key for key, times in shared.items() if times >= FEW_INPUTS}
        return near - {one.key}

    def _compared(self, one: Fingerprint, other: Fingerprint) -> Pair | None:
        likeness = compare(one, other, self._weight)
        why = verdict(likeness, one, other)
        if not why:
            return None
        splits, clusters = (one.split, other.split), (one.cluster, other.cluster)
        return Pair(one.key, other.key, splits, clusters, likeness, why)

    def _weight(self, word: str) -> float:
        """Inverse document frequency (Spärck Jones 1972), smoothed; squared, as in the cosine."""
        return math.log(1 + (len(self._prints) + 1) / (self._seen[word] + 1)) ** 2


def compare(one: Fingerprint, other: Fingerprint, weight: Any) -> Likeness:
    """The likeness of two fingerprints; `weight(word)` says how much a word of a statement tells."""
    common = one.inputs.keys() & other.inputs.keys()
    weighed = [sum(part[asked] for asked in part) for part in (one.inputs, other.inputs)]
    shared = sum(one.inputs[asked] for asked in common)
    asked = [item for item in common if item in one.answers and item in other.answers]
    agreed = [one.answers[item] for item in asked if one.answers[item] == other.answers[item]]
    return Likeness(
        statement=_jaccard(one.statement, other.statement),
        gold=_jaccard(one.gold, other.gold),
        inputs=shared / (sum(weighed) - shared) if shared else 0.0,
        generator=_jaccard(one.generator, other.generator),
        statement_held=_held(one.statement, other.statement),
        gold_held=_held(one.gold, other.gold),
        inputs_held=shared / min(weighed) if shared else 0.0,
        words=_cosine(one.vocabulary, other.vocabulary, weight),
        words_held=_words_held(one.vocabulary, other.vocabulary, weight),
        answers=len(agreed) / len(asked) if asked else 0.0,
        shared_inputs=shared,
        asked=len(asked),
        kinds_of_answers=len(set(agreed)),
        runs=len(one.runs & other.runs),
    )


def verdict(found: Likeness, one: Fingerprint, other: Fingerprint) -> str:
    """Why two tasks are near-duplicates; empty when they are not."""
    sized = min(len(one.gold), len(other.gold)) >= SIZEABLE
    phrase = min(len(one.statement), len(other.statement)) >= PHRASE
    drawn = found.generator >= ALIKE and min(len(one.generator), len(other.generator)) >= SIZEABLE
    asked = found.shared_inputs >= FEW_INPUTS and found.inputs_held >= EMBEDDED
    all_asked = found.shared_inputs >= FEW_INPUTS - 1 and found.inputs_held >= SURE
    worded = found.words_held >= ALIKE
    reasons = {
        "the statements are alike": found.statement >= ALIKE and phrase,
        "the golds are alike": found.gold >= ALIKE and sized,
        "golds and test inputs are alike": found.gold >= ALIKE and asked and found.words_held >= TOUCHED,
        "the same answers to the same inputs": asked and _same_function(found),
        "golds and the words of the statements are alike": found.gold >= ALIKE and worded,
        "test inputs and the words of the statements are alike": (drawn or (asked and found.inputs >= ALIKE))
        and worded
        and found.words >= EMBEDDED,
        "one statement holds the other": found.statement_held >= ALIKE
        and phrase
        and (found.gold_held >= EMBEDDED or asked),
        "one task holds the other": found.gold_held >= SURE and worded and (phrase or asked or all_asked),
        "one gold holds the other": found.gold_held >= ALIKE and sized,
        f"{LONG_RUN} words in a row": found.runs > 0 and (found.gold >= ALIKE or asked or drawn),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _same_function(found: Likeness) -> bool:
    """Whether equal answers are no chance: more than yes and no, or many of nearly all there are."""
    if found.answers < SURE or found.asked < FEW_INPUTS:
        return False
    supported = found.gold_held >= TOUCHED or found.words_held >= EMBEDDED
    varied = found.kinds_of_answers > 2 or (found.kinds_of_answers == 2 and found.asked > FEW_INPUTS + 1)
    return (varied and supported) or (found.asked > FEW_INPUTS + 2 and found.inputs >= ALIKE)


def check(task: Task, index: Index | None) -> Check:
    """Whether a task has a near-duplicate on the other side of train and eval, in the tasks of an index.

    Pairs within one split whose clusters differ are told as `cluster` hints: they belong into one cluster.
    """
    if index is None:
        return Check("V12", NAME, "not_run", remedy="admit it together with its pack")
    found = index.like(fingerprint(task))
    across = [pair for pair in found if set(pair.splits) == {"train", "eval"}]
    within = [pair for pair in found if pair.splits[0] == pair.splits[1]]
    hints = [pair.second for pair in within if pair.clusters[0] != pair.clusters[1]]
    measured = {"pairs": [pair.to_json() for pair in across[:_LISTED]], "cluster": hints[:_LISTED]}
    if not across:
        return Check("V12", NAME, "passed", measured)
    first = across[0]
    reason = f"like {first.second} of the split {first.splits[1]}: {first.why}"
    return Check("V12", NAME, "failed", measured, reason, "put both into one split and cluster, or drop one")


def _stock(prints: Collection[Fingerprint]) -> frozenset[tuple[str, ...]]:
    """Shingles and runs that the statements of many clusters use: how a pack says what is to be handed in."""
    users: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for one in prints:
        for phrase in one.statement | one.runs:
            users[phrase].add(one.cluster)
    return frozenset(phrase for phrase, clusters in users.items() if len(clusters) >= STOCK)


def _traits(one: Fingerprint) -> Iterator[tuple[str, Hashable]]:
    """What leads from one task to another, where few tasks have it."""
    yield from (("statement", shingle) for shingle in one.statement)
    yield from (("gold", shingle) for shingle in one.gold)
    yield from (("run", run) for run in one.runs)
    yield from (("input", asked) for asked in one.inputs)


def _minhash(shingles: Shingles) -> Any:
    from datasketch import MinHash

    found = MinHash(num_perm=PERMUTATIONS)
    found.update_batch(["\x00".join(shingle).encode("utf-8", "surrogatepass") for shingle in shingles])
    return found


def _jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _held(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


def _cosine(one: frozenset[str], other: frozenset[str], weight: Any) -> float:
    lengths = [math.fsum(map(weight, part)) for part in (one, other)]
    return math.fsum(map(weight, one & other)) / math.sqrt(lengths[0] * lengths[1]) if all(lengths) else 0.0


def _words_held(one: frozenset[str], other: frozenset[str], weight: Any) -> float:
    least = min(math.fsum(map(weight, part)) for part in (one, other))
    return math.fsum(map(weight, one & other)) / least if least else 0.0
