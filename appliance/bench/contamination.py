"""How many planted near-duplicates the search finds, and how many pairs of honest tasks it accuses.

A plant is a task of the packs, changed as somebody would who copies it, and put into the other split. It is found when
the search names its origin. The changes are drawn from a seed; nothing of them is known to the search.
"""

from __future__ import annotations

import ast
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from appliance.admission.duplicates import Index
from appliance.admission.fingerprints import Fingerprint, fingerprint, fingerprint_of, is_gold
from appliance.admission.shingles import names_of
from appliance.admission.texts import part
from appliance.nouns import Task

PLACES = ("environment/", "public/", "tests/", "hidden/", "solution/")
_NEW_NAMES = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "omega",
    "kappa",
    "sigma",
    "theta",
    "lambda_",
    "zeta",
    "item_a",
    "item_b",
    "probe",
    "gauge",
    "quill",
    "amber",
    "cobalt",
    "maple",
    "cedar",
    "birch",
    "onyx",
    "topaz",
    "garnet",
    "coral",
    "heron",
    "falcon",
    "otter",
    "badger",
    "lynx",
    "walrus",
]
_SYNONYMS = {
    "returns": "gives back",
    "return": "give back",
    "write": "implement",
    "list": "sequence",
    "string": "text",
    "integer": "whole number",
    "integers": "whole numbers",
    "number": "value",
    "numbers": "values",
    "contains": "holds",
    "each": "every",
    "every": "each",
    "equal": "identical",
    "greater": "larger",
    "smallest": "least",
    "largest": "greatest",
    "sum": "total",
    "empty": "blank",
    "first": "leading",
    "last": "final",
    "order": "sequence",
    "rows": "records",
    "lines": "rows",
    "file": "document",
    "folder": "directory",
    "makes": "creates",
    "otherwise": "in all other cases",
    "without": "leaving out",
    "is": "counts as",
    "if": "whenever",
    "the": "that",
    "and": "as well as",
    "which": "that",
    "of": "from",
    "with": "having",
    "than": "compared with",
    "into": "to",
    "are": "count as",
}
_BEFORE = (
    "This exercise comes from a warehouse that keeps its books by hand.",
    "A colleague needs a small helper for the monthly report.",
    "Please read the whole paragraph before you begin.",
)
_AFTER = (
    "Keep the solution short and readable.",
    "Nothing else is asked for, and speed does not matter here.",
    "You may assume that the input is well formed.",
)
_MORE_CODE = '''

def _report(entries):
    """Lines for the monthly report."""
    found = {}
    for name, amount in entries:
        found.setdefault(name, []).append(amount)
    return [f"{name}: {len(amounts)}" for name, amounts in sorted(found.items()) if amounts]
'''
_MORE_DEMANDS = (
    " Beside it, write `_report(entries)`, which lists how many amounts were booked under each name, as lines "
    "such as `bolts: 3`, in alphabetical order; names without an amount are left out."
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A task in memory that changes are made to."""

    statement: str
    files: Mapping[str, str]


Change = Callable[[Draft, random.Random], Draft | None]
"""None: there is nothing in this task to change in this way."""


def bench(tasks: Sequence[Task], per_kind: int, seed: int) -> dict[str, Any]:
    """Plant `per_kind` near-duplicates of each kind. Shares are of 1, by kind of plant and in total."""
    prints = [fingerprint(task) for task in tasks if task.split in ("train", "eval")]
    started = time.perf_counter()
    index = Index(prints)
    pairs = index.pairs()
    searched = time.perf_counter() - started
    splits = Counter(one.split for one in prints)
    across = splits["train"] * splits["eval"]
    by_kind, missed = _planted(index, tasks, per_kind, seed)
    hits, plants = (
        sum(row["found"] for row in by_kind.values()),
        sum(row["plants"] for row in by_kind.values()),
    )
    accused = Counter(pair.why for pair in pairs)
    return {
        "tasks": {
            "train": splits["train"],
            "eval": splits["eval"],
            "pairs": across,
            "seconds": round(searched, 2),
        },
        "plants": {"plants": plants, "found": hits, "share": _share(hits, plants)},
        **by_kind,
        "accused": {"pairs": len(pairs), "share": _share(len(pairs), across)},
        "accused_by": dict(accused),
        "accused_pairs": [f"{pair.first} ~ {pair.second}" for pair in pairs[:20]],
        "missed": missed[:20],
    }


def _planted(
    index: Index, tasks: Sequence[Task], per_kind: int, seed: int
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    rows: dict[str, dict[str, Any]] = {}
    missed = []
    for name, change in KINDS.items():
        tally: dict[str, int] = defaultdict(int)
        for task, plant in plants(name, change, tasks, per_kind, seed):
            hit = task.key in {pair.second for pair in index.of(plant)}
            tally["plants"] += 1
            tally["found"] += hit
            missed += [] if hit else [f"{name}: {task.key}"]
        if tally:
            rows[name] = {**tally, "share": _share(tally["found"], tally["plants"])}
    return rows, missed


def plants(
    name: str, change: Change, tasks: Sequence[Task], wanted: int, seed: int
) -> list[tuple[Task, Fingerprint]]:
    """Up to `wanted` changed tasks with their origins, in the other split and a cluster of their own."""
    chance = random.Random(f"{seed} {name}")
    found: list[tuple[Task, Fingerprint]] = []
    for task in chance.sample(tasks, len(tasks)):
        if task.split == "canary" or len(found) == wanted:
            continue
        plant = change(Draft(task.statement, part(task, *PLACES)), chance)
        if plant:
            split = "eval" if task.split == "train" else "train"
            key = f"plant/{name}-{len(found)}"
            found.append((task, fingerprint_of(key, split, key, plant.statement, plant.files)))
    return found


def _share(hits: int, total: int) -> float:
    return round(hits / total, 5) if total else 0.0


# changes


def renamed(draft: Draft, chance: random.Random) -> Draft | None:
    """Every function, parameter, local, table and column under another name."""
    own: set[str] = set()
    for name, text in draft.files.items():
        if name.startswith(("environment/", "public/", "solution/")):
            own |= names_of(name, text) | _locals(name, text)
    old = sorted(own)
    if not old:
        return None
    fresh = chance.sample(_NEW_NAMES, len(_NEW_NAMES))
    new = {name: f"{fresh[i % len(fresh)]}{'' if i < len(fresh) else i}" for i, name in enumerate(old)}
    files = {
        name: _replaced(text, new) if name.endswith((".py", ".sql", ".sh")) else text
        for name, text in draft.files.items()
    }
    code = re.compile(r"`[^`]*`")
    spelt = _replaced(draft.statement, {name: word for name, word in new.items() if len(name) > 3})
    return Draft(code.sub(lambda hit: _replaced(hit[0], new), spelt), files)


def reworded(draft: Draft, chance: random.Random) -> Draft | None:
    """Three of four known words replaced, sentences in another order, one more before and one after."""

    def swap(hit: re.Match[str]) -> str:
        other = _SYNONYMS.get(hit[0].lower())
        return other if other and chance.random() < 0.75 else hit[0]

    sentences = re.split(r"(?<=[.!?])\s+", draft.statement)
    chance.shuffle(sentences)
    body = " ".join(re.sub(r"`[^`]*`|[A-Za-z]+", swap, sentence) for sentence in sentences)
    return replace(draft, statement=f"{chance.choice(_BEFORE)} {body} {chance.choice(_AFTER)}")


def constants(draft: Draft, chance: random.Random) -> Draft | None:
    """Other numbers in gold, statement and inputs, and therefore other answers."""
    gold = " ".join(text for name, text in draft.files.items() if is_gold(name))
    old = sorted(set(re.findall(r"(?<![\w.])[1-9]\d*(?![\w.])", gold)) - {"1"})
    if not old:
        return None
    new = {number: str(int(number) + chance.randrange(1, 9)) for number in old}
    files = {}
    for name, text in draft.files.items():
        files[name] = _other_cases(text, new) if name.endswith(".json") else _replaced(text, new)
    return Draft(_replaced(draft.statement, new), files)


def embedded(draft: Draft, chance: random.Random) -> Draft | None:
    """The whole task as one half of a larger one, with half of its cases."""
    files = {}
    for name, text in draft.files.items():
        files[name] = text + _MORE_CODE if is_gold(name) and name.endswith(".py") else text
        if name.endswith(".json"):
            files[name] = _fewer_cases(text, chance, 0.5)
    statement = f"{chance.choice(_BEFORE)} {draft.statement}{_MORE_DEMANDS} {chance.choice(_AFTER)}"
    return Draft(statement, files)


def permuted(draft: Draft, chance: random.Random) -> Draft | None:
    """The statement reworded, the cases in another order, a third of them left out."""
    files = {
        name: _fewer_cases(text, chance, 0.67) if name.endswith(".json") else text
        for name, text in draft.files.items()
    }
    return reworded(replace(draft, files=files), chance)


def solved_otherwise(draft: Draft, chance: random.Random) -> Draft | None:
    """Another solution as the gold, reworded and renamed."""
    other = sorted(name for name in draft.files if name.startswith("solution/alternatives/"))
    if not other:
        return None
    kept = {name: text for name, text in draft.files.items() if not name.startswith("solution/")}
    chosen = other[0].split("/")[2]
    for name in other:
        if name.split("/")[2] == chosen:
            kept["solution/" + name.split("/", 3)[3]] = draft.files[name]
    found = reworded(Draft(draft.statement, kept), chance)
    return found and (renamed(found, chance) or found)


def combined(draft: Draft, chance: random.Random) -> Draft | None:
    """Renamed, reworded, other constants where there are any, and permuted."""
    found = renamed(draft, chance) or draft
    found = constants(found, chance) or found
    return permuted(found, chance)


KINDS: Mapping[str, Change] = {
    "renamed": renamed,
    "reworded": reworded,
    "constants": constants,
    "embedded": embedded,
    "permuted": permuted,
    "solved_otherwise": solved_otherwise,
    "combined": combined,
}


def _locals(name: str, text: str) -> set[str]:
    if not name.endswith(".py"):
        return set()
    tree = ast.parse(text)
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _replaced(text: str, new: Mapping[str, str]) -> str:
    if not new:
        return text
    words = "|".join(map(re.escape, sorted(new, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{words})(?![\w])", lambda hit: new[hit[0]], text)


def _other_cases(text: str, new: Mapping[str, str]) -> str:
    """The same cases about the new numbers. What is expected of them then is not worked out, only another."""
    rows = json.loads(_replaced(text, new))
    if isinstance(rows, list):
        for row in rows:
            if isinstance(row, dict) and "expected" in row:
                row["expected"] = {"changed": row["expected"]}
    return json.dumps(rows)


def _fewer_cases(text: str, chance: random.Random, share: float) -> str:
    rows = json.loads(text)
    if not isinstance(rows, list):
        return text
    return json.dumps(chance.sample(rows, max(1, round(share * len(rows)))))
