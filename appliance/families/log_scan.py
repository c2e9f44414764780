"""Programs that read a log and find something in it."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, tier_of

NAME, KIND = "log-scan", "stdio"
SUMMARY = "A program that reads a log with times, levels and parts: gaps, bursts or repeated failures."
KNOBS = {
    "window": Knob(1, 120, 30, "largest time in seconds that matters"),
    "levels": Knob(1, 3, 2, "levels that count"),
}

LEVELS = ["debug", "info", "warn", "error", "fatal"]
PARTS = ["disk", "net", "auth", "mail", "cron"]
QUESTIONS = {
    "gap": (
        "the number of lines that count and come {w} seconds or more after the line before them that counts",
        "sum(later[0] - earlier[0] >= {w} for earlier, later in zip(kept, kept[1:]))",
        "found, last = 0, None\nfor second, part in kept:\n    if last is not None and last + {w} <= "
        "second:\n        found += 1\n    last = second",
    ),
    "burst": (
        "the greatest number of lines that count within {w} seconds: lines with times t to t + {w}, "
        "both included, for any t",
        "max((sum(0 <= other[0] - one[0] <= {w} for other in kept) for one in kept), default=0)",
        "found, begin = 0, 0\nfor place, (second, part) in enumerate(kept):\n    while second - "
        "kept[begin][0] > {w}:\n        begin += 1\n    found = max(found, place - begin + 1)",
    ),
    "again": (
        "the number of lines that count for whose part another line counts that is earlier in the log "
        "by at most {w} seconds (a"
        " line at the same second that stands above it is such a line too)",
        "sum(any(part == other and second - before <= {w} for before, other in kept[:place])"
        " for place, (second, part) in enumerate(kept))",
        "found, last = 0, {{}}\nfor second, part in kept:\n    if part in last and second <= last[part] "
        "+ {w}:\n        found += 1\n    last[part] = second",
    ),
}
GOLD = '''import sys


def answer(text):
    """The number that is asked of a log."""
    kept = []
    for line in text.splitlines():
        time, level, part = line.split()[:3]
        hours, minutes, seconds = map(int, time.split(":"))
        if level in {levels!r}:
            kept.append((hours * 3600 + minutes * 60 + seconds, part))
    return f"{{{code}}}\\n"


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))
'''
OTHER = """import sys

kept = []
for line in sys.stdin:
    words = line.split()
    if any(words[1] == level for level in {levels!r}):
        clock = words[0]
        kept.append((int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:]), words[2]))
{code}
print(found)
"""
GENERATOR = '''"""Log number CASE for SEED."""

import random
import sys


def case(chance):
    lines, second = [], chance.randint(0, 70000)
    for _ in range(chance.choice([0, 1, 4, 9, 18, 30])):
        second += chance.choice([0, 1, 2, {window} - 1, {window}, {window} + 1, chance.randint(0, 200)])
        if second >= 86400:
            break
        time = f"{{second // 3600:02}}:{{second // 60 % 60:02}}:{{second % 60:02}}"
        level = chance.choice({levels!r} + [chance.choice({every!r})])
        message = chance.choice(["ok", "slow", "no answer", "error"])
        lines.append(f"{{time}} {{level}} {{chance.choice({parts!r})}} {{message}}")
    return "".join(line + "\\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(case(random.Random(f"{{sys.argv[1]}} log {{sys.argv[2]}}")))
'''


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    levels, parts = chance.sample(LEVELS, knobs["levels"]), chance.sample(PARTS, 3)
    window = chance.randint(max(1, knobs["window"] // 2), knobs["window"])
    words, code, other = (text.format(w=window) for text in QUESTIONS[chance.choice(sorted(QUESTIONS))])
    told = " or ".join(f"`{level}`" for level in levels)
    return Draft(
        "A program reads a log from standard input. Each line holds a time of one day as `HH:MM:SS`, a "
        "level, the name of a part, "
        "and a message, separated by single spaces; a message may hold spaces and is of no interest. "
        "The times never go down, but "
        "neighbours may be equal. There may be no line at all.\n\nA line counts when its level is "
        f"{told}. Print {words}.",
        tier_of(knobs, KNOBS),
        "import sys\n\nlines = sys.stdin.read().splitlines()\n",
        GOLD.format(levels=levels, code=code),
        OTHER.format(levels=levels, code=other),
        GENERATOR.format(window=window, levels=levels, every=LEVELS, parts=parts),
    )
