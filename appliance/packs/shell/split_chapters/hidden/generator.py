"""Books with lines that nearly begin a chapter."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} split_chapters")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


names = chance.sample(["one", "two", "a1", "9", "end", "part3", "z"], chance.randrange(1, 6))
odd = [" == a ==", "== A ==", "== a b ==", "==a==", "== a == ", "=== a ===", "", "", "text", "\\n %s", "  two  blanks", "== ==", "-n"]
lines = chance.sample(odd, chance.randrange(1, 4)) if number % 2 else []
for place, name in enumerate(names):
    lines.append(f"== {name} ==")
    lines.extend(chance.choice(odd) for _ in range(chance.choice([0, 1, 5, 9]) if place else chance.randrange(4)))
lines.extend(["== sure ==", "== 0z ==", "== last ==", *odd])
write("book.txt", "".join(f"{line}\n" for line in lines))
