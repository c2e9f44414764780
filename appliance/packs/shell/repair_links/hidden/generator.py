"""Broken links to files that moved, are lost or are there twice."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} repair_links")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for name in chance.sample(NAMES, 7):
    for folder in chance.sample(["./one", "./two words", "./one/-x"], chance.choice([1, 1, 2])):
        write(f"{folder}/{name}", f"{name}\n")
os.makedirs("./links/deep")
for place in range(9):
    holder = chance.choice([".", "./links", "./links/deep", "./one"])
    target = chance.choice(["gone/", "", "../lost/", "/no/such/"]) + chance.choice(NAMES)
    os.symlink(target, f"{holder}/link {place}")
write("./two words/sure one", "sure\n")
write("./two words/-dash", "sure\n")
os.symlink("gone/-dash", "./two words/fix")
write("./one/odd\\name", "sure\n")
os.symlink("gone/odd\\name", "./odd\\link")
os.symlink("../gone/sure one", "./links/deep/-sure")
os.symlink("two words/sure one", "./good")
os.symlink("sure folder", "./to folder")
os.makedirs("./x/sure folder")
os.symlink("nothing at all", "./one/nothing")
os.symlink("../x", "./links/good folder")
