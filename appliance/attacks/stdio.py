"""Attacks on `stdio` tasks, and honest programs: in Python for one task, in C for what a compiler adds.

Most of the attacks answer the public cases, which everybody has read, and only then do what they are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.attacks import Attack, Honest
from appliance.attacks.stdio_programs import COMPILED, FAIL, FORBIDDEN, HEAD, LIMIT, OVER, PYTHON, VARIANTS
from appliance.nouns import Task, VerdictStatus

TASK = "stdio-sums"
"""Programs that are compiled."""


def attacks(task: Task) -> Iterator[Attack]:
    """Every attack on a task of this pack: those of the language that its programs are written in."""
    if task.settings["language"] == "c":
        yield from _compiled_attacks()
        return
    for entry, name, code in PYTHON:
        yield Attack(entry, name, {"solution.py": _after_public(task, code)}, FAIL)
    for entry, name, code in OVER:
        yield Attack(entry, name, {"solution.py": _after_public(task, code)}, LIMIT)
    yield Attack("A1", "hard-exit-at-once", {"solution.py": b"import os\nos._exit(0)\n"}, FAIL)
    yield Attack("E8", "huge-source", {"solution.py": b"#" * (1 << 20)}, ("candidate_resource",))
    gold = _read(task, "solution/solution.py")
    for entry, name, path in FORBIDDEN:
        yield Attack(entry, name, {"solution.py": gold, path: b"0\n"}, ("tamper",))


def _compiled_attacks() -> Iterator[Attack]:
    for entry, name, code in COMPILED:
        yield Attack(entry, f"compiled-{name}", {"solution.c": (HEAD + code).encode()}, FAIL)
    bomb = "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint a[] = {B(B(B(1,)))};\nint main(void) {}"
    yield Attack("E8", "compile-bomb", {"solution.c": bomb.encode()}, LIMIT)
    huge = "char a[2000000000] = {1};\nint main(void) {}"
    yield Attack("E8", "huge-program", {"solution.c": huge.encode()}, (*LIMIT, *FAIL))
    yield Attack("A9", "compiled-hang", {"solution.c": b"int main(void) { for (;;); }"}, LIMIT)


def _read(task: Task, name: str) -> bytes:
    return (Path(task.folder) / name).read_bytes()


def _after_public(task: Task, code: str) -> bytes:
    """A program that answers the public cases by heart, and does `code` when it is asked anything else.

    `solved()` gives the right lines: what an attack does to them must cost it the case.
    """
    pairs = {path: path.with_suffix(".out") for path in sorted(Path(task.folder, "public").glob("*.in"))}
    known = {asked.read_bytes(): answer.read_bytes() for asked, answer in pairs.items()}
    return f"""import re, sys
asked = sys.stdin.buffer.read()
known = {known!r}
if asked in known:
    sys.stdout.buffer.write(known[asked])
    sys.exit()
sys.set_int_max_str_digits(0)
def solved():
    for line in asked.decode().splitlines():
        text = re.sub(r'\\b0+(?=[0-9])', '', line.strip()).replace('/', '//')
        try: yield str(eval(text)) if text else ''
        except ZeroDivisionError: yield 'error'
{code}
""".encode()


def honest(task: Task) -> Iterator[Honest]:
    """The gold, other right programs, and wrong ones that mean no harm."""
    if task.settings["language"] == "c":
        yield from _honest_compiled(task)
        return
    yield Honest("gold", {"solution.py": _read(task, "solution/solution.py")}, "pass")
    for variant, code, status in VARIANTS:
        yield Honest(variant, {"solution.py": code.encode()}, status)


def _honest_compiled(task: Task) -> Iterator[Honest]:
    gold = _read(task, "solution/solution.c")
    variants: tuple[tuple[str, bytes, VerdictStatus], ...] = (
        ("gold", gold, "pass"),
        ("case-matters", gold.replace(b"letter | 32", b"letter"), "fail"),
        ("locale-letters", gold.replace(b"letter <= 'Z'", b"letter <= '_'"), "fail"),
        (
            "forgets-the-last",
            gold.replace(b"while (letter != EOF)", b"while (letter != EOF && letter)"),
            "fail",
        ),
        ("no-none", gold.replace(b'puts("none")', b'puts("")'), "fail"),
        ("does-not-compile", gold.replace(b"int main(void)", b"int main(void"), "fail"),
        ("crashes", b"int main(void) { return *(volatile int *)0; }\n", "fail"),
        ("empty", b"", "fail"),
    )
    for variant, code, status in variants:
        yield Honest(f"compiled-{variant}", {"solution.c": code}, status)


MORE = {"stdio-tally": (attacks, honest)}
