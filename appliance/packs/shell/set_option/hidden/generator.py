"""Options with similar names and values full of signs."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} set_option")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


def arguments(*words):
    with open("../arguments", "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


names = ["port", "a.b", "axb", "ports", "xport", "Port", "a.b.c"]
values = ["80", "", "a/b", "x & y", "back\\slash\\n", "a=b", "$HOME", "it's", '"q"', "*", "\\1", "  two  blanks "]
name = chance.choice(["port", "a.b"])
lines = [chance.choice(["", "# note", f"#{name}=1", f"# {name}=2", *[f"{one}={chance.choice(values)}" for one in names]]) for _ in range(chance.randrange(1, 14))]
if number % 2:
    lines.extend([f"{name}=old={name}", f"other={name}=1", f"{name}=twice"])
else:
    lines = [line for line in lines if not line.startswith(f"{name}=")]
chance.shuffle(lines)
write("app.conf", "".join(f"{line}\n" for line in lines) if number != 2 else "")
write("app.conf.old", f"{name}=old\n")
arguments(name, values[(number * 5 + chance.randrange(5)) % len(values)])
