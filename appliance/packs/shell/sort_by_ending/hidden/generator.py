"""Files with one ending, two endings or none."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} sort_by_ending")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for name in chance.sample(NAMES, 9):
    ending = chance.choice([".txt", ".jpg", ".tar.gz", ".", "", ".JPG", ".two words", ".-x"])
    write(f"./{name}{ending}", f"{name}\n")
write("./sure.txt", "")
write("./file.-v", "a folder with a dash")
write("./no ending", "stays\n")
write("./dot.", "stays\n")
write("./folder.d/inner.txt", "stays\n")
