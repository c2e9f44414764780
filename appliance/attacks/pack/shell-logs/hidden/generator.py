"""The folder of case CASE for SEED: files and links below folders, with every kind of name."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} logs")
number = int(sys.argv[2])
WORDS = [
    b"plain", b"with blank", b"-rf", b"--", b"new\nline", b"tab\there", b"it's", b'say "so"', b"$(touch owned)",
    b"`id`", b"back\\slash", b"st*r", b"qu?stion", b"[a-z]", b";", b"&", b"#hash", b"~", b"%s", b"\xc3\xa4\xc3\xb6",
    b"\xe6\x97\xa5", b"\xff\xfe", b" ", b".hidden", b"a=b", b"...",
]  # fmt: skip
ENDINGS = [b".log", b".log", b".log", b"", b".txt", b".LOG", b".log ", b".log\n", b".logs", b".log.gz", b"log"]


def name(ending):
    return chance.choice(WORDS) + b"%d" % chance.randrange(1000) + ending


def write(path, body):
    with open(path, "xb") as file:
        file.write(body)
    os.chmod(path, chance.choice((0o644, 0o600, 0o755, 0o444, 0o640)))


def fill(folder, depth):
    for _ in range(chance.randrange(2, 7)):
        body = chance.choice((b"", b"\n", b"x" * chance.randrange(1, 300), chance.randbytes(40)))
        write(os.path.join(folder, name(chance.choice(ENDINGS))), body)
    if chance.random() < 0.6:
        target = chance.choice((b"plain.log", b"../x.log", b"/etc/passwd", b"."))
        os.symlink(target, os.path.join(folder, name(chance.choice((b".log", b".lnk")))))
    for _ in range(chance.randrange(0, 3) if depth else 0):
        inner = os.path.join(folder, name(chance.choice((b"", b"", b".log", b".d", b"\n"))))
        os.mkdir(inner)
        os.chmod(inner, chance.choice((0o755, 0o700, 0o775)))
        fill(inner, depth - 1)


fill(b".", 2)
if number == 0:
    os.makedirs(b"sure/inner.log")
    write(b"sure/-.log", b"dash")
    write(b"sure/inner.log/kept", b"kept")
    write(b"sure/inner.log/\n.log", b"newline")
    os.mkdir(b"sure/ends\n")
    write(b"sure/ends\n/x.log", b"in a folder whose name ends with a newline")
    write(b".log", b"only an ending")
