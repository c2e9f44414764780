"""V5: faults put into the gold must be found by the hidden tests, measured through our own judge."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance.admission.check import Check
from appliance.admission.golds import Files, Judged
from appliance.admission.operators import Mutant, mutants
from appliance.kinds import load_kind
from appliance.nouns import Task

CAP = 60
SHOWN = 10
FLOORS = {"function": 0.90, "stdio": 0.90, "sql": 0.90, "repo": 0.75, "shell": 0.75, "config": 0.75}
FEWEST = {"shell": 5, "config": 5}
"""Of kinds whose mutants are textual: with fewer the share says nothing."""


@dataclass(frozen=True, slots=True)
class Planted:
    """One mutant of a task's gold, as it would be handed in."""

    name: str
    """The file that it is in."""
    mutant: Mutant
    files: Files
    of_patch: bool
    """Whether it lies on a line that the gold changed or added."""


@dataclass(frozen=True, slots=True)
class Score:
    """How a sample of mutants went."""

    of: int
    """Mutants there are, of which the sample was drawn."""
    killed: tuple[Planted, ...]
    survivors: tuple[Planted, ...]
    equivalent: int
    """Survivors that never answered otherwise than the gold: no faults, and not counted."""
    masked: int
    """Mutants on which the host, or the task's own code, failed; not counted."""

    @property
    def share(self) -> float:
        """Killed mutants among those that count; 0 where none does."""
        counted = len(self.killed) + len(self.survivors)
        return len(self.killed) / counted if counted else 0.0

    @property
    def sampled(self) -> int:
        return len(self.killed) + len(self.survivors) + self.equivalent + self.masked


def score(task: Task, judged: Judged, equivalent: Callable[[str], bool] | None = None) -> Score:
    """Judge a sample of mutants; `equivalent` says of a survivor's source whether it is no fault at all."""
    every = list(planted(task))
    chosen = sample(every, CAP, random.Random(task.task_hash))
    verdicts = judged([one.files for one in chosen], [0] * len(chosen))
    paired = list(zip(chosen, verdicts, strict=True))
    alive = [one for one, verdict in paired if verdict.status == "pass"]
    same = [one for one in alive if equivalent and equivalent(one.mutant.source)]
    killed = [one for one, verdict in paired if verdict.status != "pass" and not verdict.masked]
    survivors = tuple(one for one in alive if one not in same)
    masked = sum(verdict.masked for verdict in verdicts)
    return Score(len(every), tuple(killed), survivors, len(same), masked)


def check(task: Task, found: Score, screened: str) -> Check:
    """V5 of a score. `screened`: how equivalent mutants were looked for, for the record."""
    name, floor = "mutants killed", FLOORS[task.kind]
    counted = len(found.killed) + len(found.survivors)
    on_patch = [one for one in found.survivors if one.of_patch and task.kind == "repo"]
    measured = {
        "killed": round(found.share, 4),
        "floor": floor,
        "mutants": found.sampled,
        "of": found.of,
        "cap": CAP,
        "equivalent": found.equivalent,
        "masked": found.masked,
        "survived": len(found.survivors),
        "screen": screened,
        "survivors": [_shown(one) for one in (on_patch or found.survivors)[:SHOWN]],
    }
    if found.masked:
        reason = f"{found.masked} mutants got no verdict of their own"
        return Check("V5", name, "failed", measured, reason, "look at the host and at the task's own code")
    if counted < FEWEST.get(task.kind, 1):
        return Check("V5", name, "not_applicable", measured)
    if found.share >= floor and not on_patch:
        return Check("V5", name, "passed", measured)
    first = (on_patch or found.survivors)[0].mutant
    where = " on a line of the gold patch" if on_patch else ""
    rate = f"{found.share:.2f} killed, {floor:.2f} wanted"
    reason = f"weak tests: {rate}; line {first.line}: {first.before} -> {first.after} survived{where}"
    return Check("V5", name, "failed", measured, reason, "add hidden cases that tell these apart")


def _shown(one: Planted) -> dict[str, Any]:
    told = asdict(one.mutant) | {"file": one.name}
    del told["source"]
    return told


def sample(every: Sequence[Planted], most: int, draw: random.Random) -> list[Planted]:
    """At most so many, as evenly over the operators as there are of each."""
    piles: dict[str, list[Planted]] = defaultdict(list)
    for one in every:
        piles[one.mutant.operator].append(one)
    for pile in piles.values():
        draw.shuffle(pile)
    chosen: list[Planted] = []
    while len(chosen) < min(most, len(every)):
        for name in sorted(piles):
            if piles[name] and len(chosen) < most:
                chosen.append(piles[name].pop())
    return chosen


def planted(task: Task) -> Iterator[Planted]:
    """Every mutant of the gold, file by file."""
    gold = load_kind(task.kind).controls(task)["gold"][0]
    for name, body in sorted(gold.items()):
        text = body.decode("utf-8", "replace")
        patched = _patched(task, name, text)
        for mutant in mutants(text) if name.endswith(".py") else textual(text, task.kind):
            files = {**gold, name: mutant.source.encode()}
            yield Planted(name, mutant, files, mutant.line in patched)


def _patched(task: Task, name: str, text: str) -> frozenset[int]:
    """Lines of the gold that the start does not have."""
    for root in ("environment/repo", "environment"):
        start = Path(task.folder) / root / name
        if start.is_file():
            known = set(start.read_text("utf-8", "replace").splitlines())
            lines = text.splitlines()
            return frozenset(
                number for number, line in enumerate(lines, 1) if line.strip() and line not in known
            )
    return frozenset()


_SWAPS: Mapping[str, Sequence[tuple[str, str]]] = {
    "sql": (
        (r"(?<![<>=!])<(?![<>=])", "<="),
        (r"<=", "<"),
        (r"(?<![<>=!])>(?![<>=])", ">="),
        (r">=", ">"),
        (r"(?<![<>=!])=(?!=)", "<>"),
        (r"\bAND\b", "OR"),
        (r"\bOR\b", "AND"),
        (r"\bASC\b", "DESC"),
        (r"\bDESC\b", ""),
        (r"\bDISTINCT\b", ""),
        (r"\bLEFT JOIN\b", "JOIN"),
        (r"\bSUM\b", "COUNT"),
        (r"\bCOUNT\b", "SUM"),
        (r"\bMAX\b", "MIN"),
        (r"\bMIN\b", "MAX"),
        (r"\bAVG\b", "MAX"),
        (r"\bIS NOT NULL\b", "IS NULL"),
        (r"\bNOT EXISTS\b", "EXISTS"),
        (r"\bNOT IN\b", "IN"),
        (r"\bUNION ALL\b", "UNION"),
        (r"\+", "-"),
        (r"\bROW_NUMBER\b", "RANK"),
    ),
    "shell": ((r" -[a-zA-Z]\b", ""), (r"&&", "||"), (r">>", ">"), (r"\bsort -u\b", "sort"), (r"\|\|", "&&")),
    "config": ((r"\bno\b", "yes"), (r"\byes\b", "no"), (r"\boff\b", "on"), (r"\bon\b", "off")),
}
_NUMBER = r"(?<![\w.])\d+(?![\w.])"


def textual(text: str, kind: str) -> Iterator[Mutant]:
    """Mutants of what is no Python: words swapped, numbers off by one and, but for SQL, lines dropped."""
    seen = {text}
    for operator, number, before, after, source in _edits(text, kind):
        if source not in seen:
            seen.add(source)
            yield Mutant(operator, number, before.strip()[:80], after.strip()[:80], source)


def _edits(text: str, kind: str) -> Iterator[tuple[str, int, str, str, str]]:
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith(("#", "--", ";")):
            continue
        for operator, after in _line_edits(line, kind):
            yield operator, place + 1, line, after, "".join([*lines[:place], after, *lines[place + 1 :]])


def _line_edits(line: str, kind: str) -> Iterator[tuple[str, str]]:
    for pattern, word in _SWAPS.get(kind, ()):
        for match in re.finditer(pattern, line, re.IGNORECASE):
            yield "swapped word", line[: match.start()] + word + line[match.end() :]
    for match in re.finditer(_NUMBER, line):
        yield "off by one", f"{line[: match.start()]}{int(match[0]) + 1}{line[match.end() :]}"
    if kind != "sql":
        yield "dropped line", ""
