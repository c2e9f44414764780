"""What families have in common: knobs, and drafts of variants made into task folders.

A variant is pure: equal family, seed and knobs, equal bytes. The answers of its cases are what its own gold says, which
is run here: it is text of this package, not of a user.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Any, Literal

from appliance.pool.folder import Folder

VERSION = 1
"""Raised when a family makes other variants of the same seeds."""
HIDDEN, PUBLIC, MOST_DRAWS = 14, 2, 200
Knobs = Mapping[str, int]
Tier = Literal["easy", "core", "hard"]


@dataclass(frozen=True, slots=True)
class Knob:
    """A whole number that makes variants harder as it grows, and how."""

    low: int
    high: int
    default: int
    help: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What is particular about a variant. Its inputs are drawn by `generator`, and answered by `gold`."""

    statement: str
    tier: Tier
    start: str
    gold: str
    other: str
    """A second right solution, written otherwise."""
    generator: str
    entry_point: str = ""
    """Of a function; the golds of programs define `answer(text)`."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """What the kind's own table of pool.toml holds beside the usual."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Of kinds whose cases are no calls: the rest of the task."""


def tier_of(knobs: Knobs, bounds: Mapping[str, Knob]) -> Tier:
    """A guess by where the knobs stand between their bounds; admission measures it."""
    shares = [
        (knobs[name] - knob.low) / (knob.high - knob.low)
        for name, knob in bounds.items()
        if knob.high > knob.low
    ]
    mean = sum(shares) / len(shares) if shares else 0.5
    return "easy" if mean < 0.34 else "core" if mean < 0.67 else "hard"


def defined(source: str, name: str) -> Callable[..., Any]:
    """The function of that name in a text of this package."""
    space: dict[str, Any] = {"__name__": "variant"}
    exec(compile(source, "<variant>", "exec"), space)
    found: Callable[..., Any] = space[name]
    return found


def function_files(draft: Draft, seed: int) -> dict[str, str]:
    """The files of a `function`: calls that the generator draws, each once, and the gold's answers."""
    solve = defined(draft.gold, draft.entry_point)
    drawn: Iterator[list[Any]] = defined(draft.generator, "cases")(random.Random(f"{seed} cases"))
    rows: dict[str, dict[str, Any]] = {}
    for args in islice(drawn, MOST_DRAWS):
        asked = json.dumps(args)
        rows.setdefault(asked, {"args": json.loads(asked), "expected": solve(*json.loads(asked))})
        if len(rows) == HIDDEN + PUBLIC:
            break
    public, hidden = _parted(list(rows.values()))
    return {
        "environment/solution.py": draft.start,
        "solution/solution.py": draft.gold,
        "solution/alternatives/other/solution.py": draft.other,
        "tests/generator.py": draft.generator,
        "public/examples.json": _rows(public),
        "tests/cases.json": _rows(hidden),
    }


def _parted(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Public rows with different answers where there are any, and the others."""
    second = next((n for n, row in enumerate(rows) if row["expected"] != rows[0]["expected"]), 1)
    return [rows[0], rows[second]], [row for n, row in enumerate(rows) if n not in (0, second)]


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n"


def program_files(draft: Draft, seed: int) -> dict[str, str]:
    """The files of a `stdio` program: inputs that the generator draws, and what the gold prints."""
    solve, draw = defined(draft.gold, "answer"), defined(draft.generator, "case")
    found = {
        "environment/solution.py": draft.start,
        "solution/solution.py": draft.gold,
        "solution/alternatives/other/solution.py": draft.other,
        "hidden/generator.py": draft.generator,
    }
    for number in range(PUBLIC + HIDDEN):
        text = draw(random.Random(f"{seed} case {number}"))
        place = f"public/{number + 1}" if number < PUBLIC else f"tests/{number - PUBLIC + 1:02}"
        found |= {f"{place}.in": text, f"{place}.out": solve(text)}
    return found


USUAL: Mapping[str, dict[str, Any]] = {
    "function": {"generated": 8},
    "stdio": {"language": "python", "generated": 4},
    "sql": {"mode": "query", "generated": 5, "ordered": True, "names": True},
    "shell": {"generated": 6, "exit": 0},
}
BUDGETS: Mapping[str, dict[str, int]] = {
    "stdio": {"cpu_s": 1, "wall_s": 4, "memory_mb": 96},
    "shell": {"cpu_s": 1, "wall_s": 4, "memory_mb": 96},
}


def files_of(kind: str, draft: Draft, seed: int) -> dict[str, str]:
    """The files of a variant but for its statement and manifests."""
    makers = {"function": function_files, "stdio": program_files}
    return {**(makers[kind](draft, seed) if kind in makers else {}), **draft.files}


def is_varied(kind: str, files: Mapping[str, str]) -> bool:
    """Whether the hidden answers of calls and programs differ: no answer may be right for half of the cases."""
    if kind == "function":
        answers = [json.dumps(row["expected"]) for row in json.loads(files["tests/cases.json"])]
    else:
        answers = [
            text for name, text in files.items() if name.startswith("tests/") and name.endswith(".out")
        ]
    return not answers or 2 * max(Counter(answers).values()) <= len(answers)


def folder(
    family: ModuleType, draft: Draft, files: Mapping[str, str], key: str, split: str, seed: int, knobs: Knobs
) -> Folder:
    """The task folder of a variant under a key. All variants of a family are one cluster: they lie in one split."""
    kind, name = family.KIND, family.NAME
    told = " ".join(f"{name}={value}" for name, value in sorted(knobs.items()))
    table = {**USUAL[kind], **draft.table}
    if draft.entry_point:
        table["entry_point"] = draft.entry_point
    pool = {
        "key": key,
        "version": "1.0.0",
        "kind": kind,
        "split": split,
        "tier": draft.tier,
        "cluster": f"family-{name}",
        "family": name,
        "author": f"family {name}",
        "licence": "Apache-2.0",
        "provenance": f"generated: family {name} {VERSION}, seed {seed}, {told}",
        **({"budgets": BUDGETS[kind]} if kind in BUDGETS else {}),
        kind: table,
    }
    manifest = {
        "schema_version": "1.4",
        "task": {
            "name": key,
            "description": f"A variant of the family {name}.",
            "keywords": [kind, name],
        },
        "metadata": {"difficulty": draft.tier, "category": name},
        "agent": {"timeout_sec": 60, "network_mode": "no-network"},
        "verifier": {"timeout_sec": 60, "environment_mode": "separate"},
        "environment": {"memory_mb": 256, "cpus": 1, "network_mode": "no-network"},
    }
    texts = {"instruction.md": draft.statement.strip() + "\n", **files}
    return Folder(pool, manifest, {name: text.encode() for name, text in texts.items()})


def head(name: str, parameters: str, returns: str, doc: str) -> str:
    """The first lines of a function: signature and docstring."""
    return f'def {name}({parameters}) -> {returns}:\n    """{doc}"""\n'


def lines(*parts: str, indent: int = 4) -> str:
    """Lines of code, indented."""
    return "".join(f"{' ' * indent}{line}\n" for part in parts for line in part.splitlines())


def numbered(steps: Sequence[str]) -> str:
    """A numbered list of a statement."""
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))
