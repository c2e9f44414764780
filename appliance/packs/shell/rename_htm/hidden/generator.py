"""Pages, some of them with a file of the new name beside them."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} rename_htm")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for name in chance.sample(NAMES, 9):
    write(f"./{name}.htm", f"{name} {chance.randrange(99)}\n" * chance.randrange(3))
    if chance.random() < 0.4:
        write(f"./{name}.html", "there\n")
    if chance.random() < 0.5:
        write(f"./{name}.{chance.choice(['HTM', 'htmx', 'txt', 'htm.bak'])}", "other\n")
write("./sure page.htm", "sure\n")
write("./-f sub/inner.htm", "inner\n")
write("./folder.htm/inner.htm", "inner\n")
write("./htm", "no ending\n")
write("./taken.htm", "file\n")
write("./taken.html/inside", "a folder has the new name\n")
