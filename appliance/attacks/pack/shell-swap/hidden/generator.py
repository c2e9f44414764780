"""Case CASE for SEED: the two words, files with and without the lines, and what becomes of them."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} swap")
WORDS = [b"a/b", b"a.c", b"x & y", b"back\\1", b"[set]", b"^start", b"end$", b"  lead", b"trail  ", b"-e", b"*", b"$HOME",
         b"it's", b'"q"', b"\xc3\xa9", b"\ttab", b"%d"]  # fmt: skip
old, new = chance.sample(WORDS, 2)
near = [old + b" ", b" " + old, old + old, old.upper() + b"!", b"abc", b"", b"axc", b"\0", b"\xff"]
os.mkdir("../expected")
count = 0


def write(root, path, body, mode):
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "xb") as file:
        file.write(body)
    os.chmod(target, mode)


for number in range(12):
    folder = chance.choice((b"", b"one", b"one/two words", b"-n"))
    path = os.path.join(folder, b"%d " % number + chance.choice((b"file", b"new\nline", b"quo'te", b"*")))
    lines = [chance.choice((old, chance.choice(near))) for _ in range(chance.randrange(0, 9))]
    end = chance.choice((b"", b"\n"))
    mode = chance.choice((0o644, 0o755))
    # An empty last line is no line, and neither OLD nor NEW is empty.
    count += lines.count(old)
    write(b".", path, b"\n".join(lines) + end, mode)
    write(b"../expected", path, b"\n".join(new if line == old else line for line in lines) + end, mode)
for root in (b".", b"../expected"):
    os.symlink(b"0 file", os.path.join(root, b"link"))
with open("../arguments", "wb") as file:
    file.write(old + b"\0" + new + b"\0")
with open("../stdout", "wb") as file:
    file.write(b"%d\n" % count)
