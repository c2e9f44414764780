"""Text files with lines that are nearly or quite equal."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} unique_lines")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
LINES = ["x", "X", "x ", " x", "", "y", "y z", "10", "9", "-n", "\\n", "%s"]
for name in chance.sample(NAMES, 6):
    folder = chance.choice([".", "./sub folder", "./-d/deep"])
    write(f"{folder}/{name}.{chance.choice(['txt', 'txt', 'txt', 'md', 'TXT'])}", "".join(f"{chance.choice(LINES)}\n" for _ in range(chance.randrange(12))))
write("./sure.txt", "b\na\nb\n\n\n")
write("./more/sure.txt", "b\na\nb\n")
write("./more/sure.text", "b\nb\n")
write("./empty.txt", "")
