"""Input number CASE for SEED: expressions of growing depth, some of which divide by zero."""

import random
import sys

chance = random.Random(f"{sys.argv[1]} sums")
number = int(sys.argv[2])


def blanks():
    return " " * chance.choice((0, 0, 1, 2))


def expression(depth):
    kind = chance.random()
    if depth == 0 or kind < 0.15:
        return str(chance.choice((0, 1, 2, 3, 7, 10, chance.randrange(1000), chance.randrange(10**30))))
    if kind < 0.3:
        return "-" + blanks() + expression(depth - 1)
    if kind < 0.5:
        return "(" + blanks() + expression(depth - 1) + blanks() + ")"
    sign = chance.choice("+-*/%")
    return expression(depth - 1) + blanks() + sign + blanks() + expression(depth - 1)


for line in range(30):
    text = "" if chance.random() < 0.05 else expression(2 + number % 5)
    print(text[:2000] if len(text) <= 2000 else "1 - 2 - 3")
