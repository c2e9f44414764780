"""Flaky cases: how often a case of a task answers differently about one and the same correct submission.

Each case has a Beta posterior over its rate of flips, with a prior mean of 1 %. A case whose posterior mean is above
2 % has no weight: one flip in ten judgings is enough. Pure arithmetic over counts; nothing is tried again in the
hope of a better answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from appliance.nouns import Verdict

PRIOR_FLIPS, PRIOR_CLEAN = 0.2, 19.8
LIMIT = 0.02
"""Posterior mean above which a case counts as flaky."""
QUARANTINE_SHARE = 0.05
"""Share of a task's cases that may be flaky before the task itself is not to be trusted."""
REST = -1
"""The case number that stands for every case of a layer that never flipped."""

Case = tuple[str, int]
"""Layer and position in its file."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What was seen of one case."""

    flips: int = 0
    """Judgings that disagreed with the majority."""
    clean: int = 0
    """Judgings that agreed with it."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.flips + other.flips, self.clean + other.clean)

    @property
    def mean(self) -> float:
        """Posterior mean of the rate of flips."""
        flips, clean = PRIOR_FLIPS + self.flips, PRIOR_CLEAN + self.clean
        return flips / (flips + clean)

    @property
    def flaky(self) -> bool:
        return self.mean > LIMIT

    @property
    def weight(self) -> float:
        """1 for a case that counts, 0 for one that must not decide anything."""
        return 0.0 if self.flaky else 1.0


@dataclass(frozen=True, slots=True)
class Flakes:
    """The tallies of one task under one verifier: of the cases that flipped, and of all others under `REST`."""

    tallies: Mapping[Case, Tally] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Flakes:
        """From rows with layer, case_number, flips and clean."""
        return cls({(row["layer"], row["case_number"]): Tally(row["flips"], row["clean"]) for row in rows})

    def of(self, layer: str, case: int) -> Tally:
        """The tally of a case; that of the rest of its layer where it never flipped."""
        return self.tallies.get((layer, case)) or self.tallies.get((layer, REST)) or Tally()

    def weight(self, layer: str, case: int) -> float:
        """What a case counts: 1, or 0 for a flaky one, which belongs to neither the score nor the denominator."""
        return self.of(layer, case).weight

    def flaky(self) -> Iterator[tuple[Case, Tally]]:
        """The flaky cases, in order."""
        return ((case, tally) for case, tally in sorted(self.tallies.items()) if tally.flaky)

    def quarantines(self, cases: int) -> bool:
        """Whether too many of a task's `cases` are flaky."""
        return cases > 0 and len(list(self.flaky())) / cases > QUARANTINE_SHARE

    def __add__(self, other: Flakes) -> Flakes:
        """Both together. A case that flips for the first time keeps the clean judgings it had among the rest."""
        return Flakes({case: self.of(*case) + other.of(*case) for case in {*self.tallies, *other.tallies}})


def count(verdicts: Sequence[Verdict], evidence_cap: int) -> Flakes:
    """Count the verdicts on one and the same submission; `evidence_cap` is the length at which evidence was cut.

    A masked verdict counts in nothing. A layer in which the conversation broke, or whose failures were cut, says
    nothing about the cases that are not named.
    """
    asked: dict[str, int] = {}
    failed: dict[Case, int] = {}
    unasked: dict[Case, int] = {}
    for verdict in (verdict for verdict in verdicts if not verdict.masked):
        named = {(item["layer"], item["case"]) for item in verdict.evidence if "case" in item}
        broken = {item["layer"] for item in verdict.evidence if "case" not in item}
        ran = {layer["name"] for layer in verdict.layers} - {"intake"}
        whole = set() if len(verdict.evidence) >= evidence_cap else ran - broken
        for layer in whole:
            asked[layer] = asked.get(layer, 0) + 1
        for case in named:
            failed[case] = failed.get(case, 0) + 1
            unasked[case] = unasked.get(case, 0) + (case[0] not in whole)
    tallies = {(layer, REST): Tally(0, times) for layer, times in asked.items()}
    for case, bad in failed.items():
        good = asked.get(case[0], 0) + unasked[case] - bad
        tallies[case] = Tally(min(good, bad), max(good, bad))
    return Flakes(tallies)
