"""Attacks on `shell` tasks, and honest scripts.

Most of the attacks do what the public examples ask for by their names, which everybody has read, and only then do what
they are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.attacks import Attack, Honest
from appliance.attacks.shell_scripts import FAIL, FORBIDDEN, HOSTILE, LIMIT, OVER, SWAPS, VARIANTS
from appliance.nouns import Task

TASK = "shell-logs"
"""Scripts that get arguments, and whose output and exit code count."""

SOURCE = "solution.sh"
PUBLIC = """#!/bin/sh
if [ -e notes.txt ]; then
    mkdir -p archive/deep/er && mv a.log archive && rm empty.log && mv 'deep/er/b c.log' archive/deep/er
    exit
elif [ -e x.log.d ]; then
    rm empty.log
    exit
fi
solve() {
    find . -path ./archive -prune -o -type f -name '*.log' -exec sh -c '
        for file do
            target=archive/${file#./}
            if [ -s "$file" ]; then mkdir -p "${target%/*}" && mv "$file" "$target"; else rm "$file"; fi
        done' sh {} +
}
"""
"""What answers the public examples by heart; `solve` does the work, which an attack must lose by what it adds."""


def attacks(task: Task) -> Iterator[Attack]:
    """Every attack on a task of this pack."""
    if task.key.endswith("shell-swap"):
        for entry, name, code in SWAPS:
            yield Attack(entry, name, {SOURCE: code.encode()}, FAIL)
        return
    for entry, name, code in HOSTILE:
        yield Attack(entry, name, {SOURCE: (PUBLIC + code).encode()}, FAIL)
    for entry, name, code in OVER:
        yield Attack(entry, name, {SOURCE: (PUBLIC + code).encode()}, LIMIT)
    yield Attack("A1", "exit-at-once", {SOURCE: b"exit 0\n"}, FAIL)
    yield Attack("E8", "huge-source", {SOURCE: b"#" * (1 << 20)}, ("candidate_resource",))
    gold = _gold(task)
    for entry, name, path in FORBIDDEN:
        yield Attack(entry, name, {SOURCE: gold, path: b"exit 0\n"}, ("tamper",))


def _gold(task: Task) -> bytes:
    return (Path(task.folder) / "solution" / SOURCE).read_bytes()


def honest(task: Task) -> Iterator[Honest]:
    """The gold, other right scripts, and wrong ones that mean no harm."""
    kind = task.key.rpartition("/")[2]
    prefix = "swap-" if kind == "shell-swap" else ""
    yield Honest(f"{prefix}gold", {SOURCE: _gold(task)}, "pass")
    for variant, code, status in VARIANTS[kind]:
        yield Honest(f"{prefix}{variant}", {SOURCE: code.encode()}, status)


MORE = {"shell-swap": (attacks, honest)}
