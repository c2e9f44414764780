"""Tables of several lengths, some without a last newline."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} line_report")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for name in chance.sample(NAMES, chance.randrange(3, 9)):
    lines = chance.randrange(14)
    write(f"./{name}.csv", "x,y\n" * lines + chance.choice(["", "no newline"]))
write("./-c.csv", "1\n" * 11)
write("./sub/inner.csv", "1\n")
write("./folder.csv/inner.csv", "1\n")
write("./other.txt", "1\n")
write("./other.CSV", "1\n")
write("./Zeta b.csv", "")
