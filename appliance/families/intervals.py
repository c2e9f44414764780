"""Intervals on a line: clipped, filtered, merged and measured."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, head, lines, numbered, tier_of

NAME, KIND = "intervals", "function"
SUMMARY = "Half-open intervals: dropped, clipped and merged across gaps, then counted or measured."
KNOBS = {
    "steps": Knob(0, 3, 2, "what is done before the measure"),
    "gap": Knob(0, 5, 2, "largest gap that is bridged"),
}

MEASURES = {
    "covered": (
        "the sum of the lengths of the intervals that are left",
        "return sum(end - start for start, end in spans)",
        "total = 0\nfor span in spans:\n    total += span[1]\n    total -= span[0]\nreturn total",
    ),
    "count": ("how many intervals are left", "return len(spans)", "return sum(1 for _ in spans)"),
    "longest": (
        "the length of the longest interval that is left, or 0 where none is",
        "return max((end - start for start, end in spans), default=0)",
        "best = 0\nfor start, end in spans:\n    if start + best < end:\n        best = end - start\n"
        "return best",
    ),
    "list": (
        "the intervals that are left, sorted by start and then by end",
        "return sorted([start, end] for start, end in spans)",
        "spans.sort(key=lambda span: (span[0], span[1]))\nreturn spans",
    ),
}
GENERATOR = """def cases(random):
    near = {near}
    while True:
        spans = []
        for _ in range(random.choice([0, 1, 2, 3, 5, 8])):
            start = random.choice([random.randint(-30, 30), random.choice(near)])
            if spans and random.random() < 0.6:
                start = random.choice(spans)[1] + random.randint(-3, {gap} + 1)
            spans.append([start, start + random.choice([1, 2, random.choice({lengths}), random.randint(1, 25)])])
        yield [spans]
"""
MERGE_OTHER = """merged = []
for span in sorted(spans, reverse=True):
    start, end = span
    while merged and merged[-1][0] <= end + {gap}:
        end = max(end, merged.pop()[1])
    merged.append([start, end])
spans = merged[::-1]"""


def _drop(chance: random.Random, gap: int) -> tuple[str, str, str, int]:
    least = chance.randint(2, 6)
    return (
        f"Remove the intervals that are shorter than {least}.",
        f"spans = [span for span in spans if span[1] - span[0] >= {least}]",
        f"spans = [[start, end] for start, end in spans if not start + {least} > end]",
        least,
    )


def _clip(chance: random.Random, gap: int) -> tuple[str, str, str, int]:
    limit = chance.randint(8, 20)
    return (
        f"Of every interval keep only the part from -{limit} to {limit}; remove what has no length then.",
        f"spans = [[max(start, -{limit}), min(end, {limit})] for start, end in spans"
        f" if max(start, -{limit}) < min(end, {limit})]",
        f"kept = []\nfor start, end in spans:\n    start = -{limit} if start < -{limit} else start\n"
        f"    end = {limit} if end > {limit} else end\n    if end > start:\n        kept.append([start, "
        "end])\nspans = kept",
        limit,
    )


def _merge(chance: random.Random, gap: int) -> tuple[str, str, str, int]:
    bridged = chance.randint(0, gap)
    what = f"or have a gap of at most {bridged} between them" if bridged else "or touch"
    return (
        f"Merge intervals that overlap {what} into one that reaches from the least start to the "
        "greatest end, until there"
        " are none left to merge.",
        "merged = []\nfor start, end in sorted(spans):\n"
        f"    if merged and start - merged[-1][1] <= {bridged}:\n"
        "        merged[-1][1] = max(merged[-1][1], end)\n    else:\n        merged.append([start, "
        "end])\nspans = merged",
        MERGE_OTHER.format(gap=bridged),
        bridged,
    )


MAKERS = {"drop": _drop, "clip": _clip, "merge": _merge}


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed: some of the steps, in a drawn order, and a measure."""
    chance = random.Random(f"{NAME} {seed}")
    steps = [MAKERS[name](chance, knobs["gap"]) for name in chance.sample(sorted(MAKERS), knobs["steps"])]
    words, code, other = MEASURES[chance.choice(sorted(MEASURES))]
    returns = "list[list[int]]" if "sorted by" in words else "int"
    first = head("measure", "spans: list[list[int]]", returns, "Return what is asked of the intervals.")
    done = (
        f" These steps are taken in this order:\n\n{numbered([step[0] for step in steps])}\n\nThen it"
        if steps
        else " It"
    )
    limits = [number for step in steps for number in (step[3], -step[3])] or [0]
    copy = "spans = [list(span) for span in spans]"
    return Draft(
        "Write the function `measure(spans)`. `spans` is a list of intervals `[start, end]` of "
        "integers, with `start < end`, in "
        f"any order and perhaps more than once; an interval holds `start` but not `end`.{done} returns "
        f"{words}. The list that "
        "was given is not changed.",
        tier_of(knobs, KNOBS),
        first,
        first + lines(copy, *(step[1] for step in steps), code),
        first + lines(copy, *(step[2] for step in steps), other),
        GENERATOR.format(
            near=sorted(set(limits)), gap=knobs["gap"], lengths=sorted({abs(n) for n in limits if n} or {3})
        ),
        "measure",
    )
