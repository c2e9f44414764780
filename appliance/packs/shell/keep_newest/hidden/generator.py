"""Backups of names that begin alike, and files that are no backups."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} keep_newest")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


def arguments(*words):
    with open("../arguments", "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


names = ["home", "home-old", "mail", "a", "home-old-x", "ho"]
dates = [f"{year}-{month:02}-{day:02}" for year in (2019, 2023, 2024) for month in (1, 9, 12) for day in (1, 9, 30)]
for name in chance.sample(names, 4):
    for date in chance.sample(dates, chance.randrange(1, 7)):
        write(f"{name}-{date}.tar", f"{name} {date}\n")
for date in dates[:5]:
    write(f"sure-{date}.tar", "sure\n")
    write(f"Sure-{date}.tar", "a capital\n")
    write(f"home-{date}.tar.gz", "another ending\n")
    write(f"sure{date}.tar", "no dash\n")
    write(f"sure-{date}-1.tar", "more\n")
    write(f"x1-{date}.tar", "a digit\n")
    write(f"sure-{date}xtar", "no dot\n")
write("sub/sure-2000-01-01.tar", "in a folder\n")
arguments(str(chance.choice([1, 2, 3])))
