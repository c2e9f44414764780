"""Files with equal and nearly equal contents."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} link_copies")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
BODIES = ["", "same\n", "same", "Same\n", " same\n", "other\n", "x" * 3000]
for place, name in enumerate(chance.sample(NAMES, 10)):
    write(f"./{chance.choice(['', '', '.'])}{name}{chance.choice(['', '.txt'])}", chance.choice(BODIES))
write("./-sure", "sure\n")
write("./Sure", "sure\n")
write("./_sure", "sure\n")
write("./empty 1", "")
write("./empty 2", "")
write("./sub/sure", "sure\n")
os.symlink("-sure", "./!link")
os.symlink("nowhere", "./broken")
