"""Programs that run the orders of a small stack machine."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, tier_of

NAME, KIND = "stack-machine", "stdio"
SUMMARY = "An interpreter of a small stack machine, whose orders have drawn names and meanings."
KNOBS = {"orders": Knob(2, 8, 4, "orders beside push and print")}

ORDERS = {
    "add": ("takes two numbers and puts their sum", 2, "stack.append(b + a)", "put(first + second)"),
    "minus": (
        "takes the top number and then the next one, and puts the next one minus the top one",
        2,
        "stack.append(a - b)",
        "put(second - first)",
    ),
    "times": (
        "takes two numbers and puts their product modulo {n}",
        2,
        "stack.append(a * b % {n})",
        "put(first * second % {n})",
    ),
    "most": (
        "takes two numbers and puts the greater one",
        2,
        "stack.append(max(a, b))",
        "put(second if second > first else first)",
    ),
    "double": ("puts the top number once more", 1, "stack += [a, a]", "put(first)\nput(first)"),
    "swap": ("changes the two top numbers for each other", 2, "stack += [b, a]", "put(first)\nput(second)"),
    "drop": ("takes the top number away", 1, "pass", "pass"),
    "raise": ("adds {n} to the top number", 1, "stack.append(a + {n})", "put({n} + first)"),
    "sign": (
        "takes the top number and puts 1 if it is greater than 0, else 0",
        1,
        "stack.append(1 if a > 0 else 0)",
        "put(int(first > 0))",
    ),
}
NAMES = ["ZIP", "TOK", "MEL", "FAR", "GUM", "HEX", "LIP", "NOD", "RUB", "VIM"]
GOLD = '''import sys


def answer(text):
    """What the machine prints for the orders of a text."""
    stack, out = [], []
    for number, line in enumerate(text.splitlines(), 1):
        order, *rest = line.split()
        if order == {push!r}:
            stack.append(int(rest[0]))
            continue
        need = {needs!r}[order]
        if len(stack) < need:
            out.append(f"error in line {{number}}")
            break
        if order == {show!r}:
            out.append(str(stack[-1]))
            continue
        taken = [stack.pop() for _ in range(need)][::-1]
        a, b = taken[0], taken[-1]
{branches}
    return "".join(line + "\\n" for line in out)


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))
'''
OTHER = """import sys

pile = []


def put(value):
    pile.append(value)


def take(number):
    if not pile:
        print(f"error in line {{number}}")
        sys.exit()
    return pile.pop()


for number, line in enumerate(sys.stdin, 1):
    words = line.split()
    if words[0] == {push!r}:
        put(int(words[1]))
    elif words[0] == {show!r}:
        value = take(number)
        print(value)
        put(value)
{branches}
"""
GENERATOR = '''"""Orders number CASE for SEED; some lack numbers."""

import random
import sys


def case(chance):
    orders, lines, depth = {needs!r}, [], 0
    careless = chance.random() < 0.25
    for _ in range(chance.choice([0, 2, 6, 12, 25, 40])):
        fit = [name for name, need in sorted(orders.items()) if need <= depth or careless and chance.random() < 0.3]
        if not fit or chance.random() < 0.35:
            lines.append(f"{push} {{chance.randint(-9, 30)}}")
            depth += 1
            continue
        name = chance.choice(fit + [{show!r}] * (depth > 0))
        lines.append(name)
        depth = max(0, depth + {changes!r}.get(name, 0))
    return "".join(line + "\\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(case(random.Random(f"{{sys.argv[1]}} orders {{sys.argv[2]}}")))
'''
CHANGES = {
    "add": -1,
    "minus": -1,
    "times": -1,
    "most": -1,
    "double": 1,
    "swap": 0,
    "drop": -1,
    "raise": 0,
    "sign": 0,
}


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    push, show, *names = chance.sample(NAMES, knobs["orders"] + 2)
    meanings = chance.sample(sorted(ORDERS), knobs["orders"])
    needs, words, gold, other, changes = {show: 1}, [], [], [], {}
    for name, meaning in zip(names, meanings, strict=True):
        number = chance.randint(3, 99)
        told, need, code, second = ORDERS[meaning]
        needs[name], changes[name] = need, CHANGES[meaning]
        words.append(
            f"- `{name}` {told.format(n=number)}; it needs {'a number' if need == 1 else 'two numbers'}."
        )
        gold.append(f"        if order == {name!r}:\n            {code.format(n=number)}")
        body = "".join(f"        {line}\n" for line in second.format(n=number).splitlines())
        taken = "        first = take(number)\n" + ("        second = take(number)\n" if need == 2 else "")
        other.append(f"    elif words[0] == {name!r}:\n{taken}{body.rstrip()}")
    parts = {"push": push, "show": show, "needs": needs}
    return Draft(
        "A machine has a stack of whole numbers, which is empty at first. Write a program that reads "
        "orders from standard input, "
        f"one a line, and carries them out.\n\n- `{push} N` puts the whole number N on the stack.\n- "
        f"`{show}` prints the top "
        f"number in a line of its own and leaves it there; it needs a number.\n{chr(10).join(words)}\n\n"
        "When an order needs more "
        "numbers than the stack holds, the program prints `error in line K`, where K counts the lines "
        "from 1, and ends with exit "
        "code 0. There may be no line at all.",
        tier_of(knobs, KNOBS),
        "import sys\n\nlines = sys.stdin.read().splitlines()\n",
        GOLD.format(branches="\n".join(gold), **parts),
        OTHER.format(branches="\n".join(other), **parts),
        GENERATOR.format(changes=changes, **{**parts, "needs": {name: needs[name] for name in names}}),
    )
