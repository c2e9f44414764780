"""Files whose names and first bytes say what they are."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} private_keys")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for folder in ("./box", "./box/-x y", "./b.key"):
    os.makedirs(folder)
for name in chance.sample(NAMES, 10):
    folder = chance.choice([".", "./box", "./box/-x y", "./b.key"])
    body = chance.choice(["", "#", "#!", "#!/bin/sh\n", "text\n", " #!/bin/sh\n", "\n#!/bin/sh\n", "# !\n"])
    write(f"{folder}/{name}{chance.choice(['', '', '.key', '.keys', '.sh'])}", body, chance.choice([0o644, 0o755, 0o600, 0o664, 0o400]))
write("./sure", "#!/bin/sh\n", 0o644)
write("./box/sure.key", "#!/bin/sh\n", 0o644)
write("./box/plain", "plain\n", 0o640)
write("./second", "line\n#!/bin/sh\n", 0o644)
os.chmod("./box", chance.choice([0o755, 0o700]))
