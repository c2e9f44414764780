"""Accounts around the edge, with comments between them."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} list_shells")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


lines = ["low:x:999:1:Low:/low:/bin/low", "edge:x:1000:1:Edge:/edge:/bin/edge", "no:x:100:2000:No:/no:/bin/no", "gone:x:1001:1:::"]
for place in range(chance.randrange(3, 20)):
    user = chance.choice(["ann", "ben", "c.d", "e-f"])
    lines.append(chance.choice(["", "#", "#old:x:1500:1:Old:/old:/bin/old", "# note"]))
    lines.append(f"{user}{place}:x:{chance.choice([0, 99, 998, 999, 1000, 1001, 20000])}:{chance.choice([1, 5000])}:{chance.choice(['Ann Lind', '', '#1'])}:/home/{user}:{chance.choice(['/bin/sh', '/usr/bin/my shell', ''])}")
chance.shuffle(lines)
write("accounts", "".join(f"{line}\n" for line in lines) if number else "only:x:5:5:Only:/:/bin/sh\n")
if number % 2:
    write("shells", "old /bin/old\n")
write("other", "more:x:5000:1:More:/:/bin/sh\n")
