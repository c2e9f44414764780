"""Sales in regions with similar names, at the edge of the number."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} filter_sales")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


def arguments(*words):
    with open("../arguments", "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


regions = ["north", "north west", "north ", "n.rth", "North", "", "[ab]", "east"]
region = regions[(1, 3, 6, 2, 5, 0)[number % 6]]
least = chance.choice([0, 10, 100, -5, 9])
rows = [f"{place},{chance.choice([region, region, *regions])},{chance.choice([least, least - 1, least + 1, 9, 10, 100, -6, 1000, 99])}" for place in chance.sample(range(1000), 25)]
rows.append(f"2000,{region},{least}")
write("sales.csv", "".join(f"{row}\n" for row in ["id,region,amount", *rows]))
if number % 2:
    write("big.csv", "id,region,amount\n7,old,7\n")
write("old.csv", "id,region,amount\n1,north,500\n")
arguments(region, str(least))
