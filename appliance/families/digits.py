"""Digits of whole numbers in a base, and what is done with them again and again."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, head, lines, tier_of

NAME, KIND = "digits", "function"
SUMMARY = "The digits of a number in some base: a value of each, folded, perhaps until it is small."
KNOBS = {"base": Knob(5, 16, 10, "base of the digits"), "rounds": Knob(1, 3, 1, "how often it is done")}

VALUES = {
    "square": ("the square of the digit", "digit * digit", "digit ** 2"),
    "plus": ("the digit plus {n}", "digit + {n}", "{n} + digit"),
    "times place": (
        "the digit times its position, where the last digit has position 1, the one before it 2, and so on",
        "digit * place",
        "place * digit",
    ),
    "parity": (
        "{n} if the digit is odd, else the digit",
        "{n} if digit % 2 else digit",
        "digit if digit % 2 == 0 else {n}",
    ),
}
FOLDS = {
    "sum": (
        "the sum of the values",
        "sum(values)",
        "total = 0\nfor value in values:\n    total += value\nnumber = total",
    ),
    "alternating": (
        "the value of the last digit, minus that of the one before it, plus that of the one before "
        "that, and so on with"
        " changing signs; without its sign",
        "abs(sum(value if place % 2 == 0 else -value for place, value in enumerate(values)))",
        "number = abs(sum(values[::2]) - sum(values[1::2]))",
    ),
    "spread": (
        "the greatest value minus the least one",
        "max(values) - min(values)",
        "number = sorted(values)[-1] - sorted(values)[0]",
    ),
}
GENERATOR = """def cases(random):
    base = {base}
    while True:
        length = random.randint(1, 7)
        limits = [base ** length - 1, base ** length]
        yield [random.choice([random.randint(0, base ** 2), random.randint(0, base ** length), *limits])]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    base, rounds, number = knobs["base"], knobs["rounds"], chance.randint(2, 9)
    words, value, other_value = (text.format(n=number) for text in VALUES[chance.choice(sorted(VALUES))])
    fold_words, fold, other_fold = FOLDS[chance.choice(sorted(FOLDS))]
    first = head("reduce", "number: int", "int", "Return what becomes of the number.")
    gold = [
        f"for _ in range({rounds}):",
        f"    digits = []\n    while number >= {base}:\n        digits.append(number % {base})\n        "
        f"number //= {base}",
        "    digits.append(number)",
        f"    values = [{value} for place, digit in enumerate(digits, 1)]",
        f"    number = {fold}",
        "return number",
    ]
    once = (
        f"rest, digits = number // {base}, [number % {base}]\n"
        f"while rest:\n    digits.append(rest % {base})\n    rest = rest // {base}\n"
        "values = []\nfor place in range(1, len(digits) + 1):\n    digit = digits[place - 1]\n"
        f"    values.append({other_value})\n{other_fold}"
    )
    again = (
        ""
        if rounds == 1
        else f" This is done {rounds} times in all, each time with the result of the time before."
    )
    return Draft(
        "Write the function `reduce(number)` for a whole number of at least 0. It takes the digits of "
        "the number in base "
        f"{base}, without leading zeros (0 has the one digit 0), and for each digit a value: {words}. "
        f"The result is {fold_words}.{again}",
        tier_of(knobs, KNOBS),
        first,
        first + lines(*gold),
        first + lines(f"for _ in [None] * {rounds}:") + lines(once, indent=8) + lines("return number"),
        GENERATOR.format(base=base),
        "reduce",
    )
