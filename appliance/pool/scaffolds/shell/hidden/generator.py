"""An inbox of files, folders and links with plain and odd names."""

import random
import sys
from pathlib import Path

chance = random.Random(f"{sys.argv[1]} inbox {sys.argv[2]}")
stems = ["a", "b c", "-n", ".x", "it's", "*", "$HOME", "Z", "10", "", "a.csv", "ends in blank "]
endings = [".csv", ".csv", ".csv", ".txt", ".CSV", ".csv.old", "csv"]
inbox = Path("inbox")
inbox.mkdir()
for place in range(chance.randrange(3, 14)):
    path = inbox / (chance.choice(stems) + chance.choice(endings))
    if path.name in (".", "..") or path.is_symlink() or path.exists():
        continue
    kind = chance.random()
    if kind < 0.12:
        path.mkdir()
        (path / "in.csv").write_text(f"{place}\n")
    elif kind < 0.24:
        path.symlink_to(chance.choice(["nowhere", "../beside", "."]))
    else:
        path.write_text(chance.choice(["", f"{place}\n", "a,b\n"]))
(inbox / "sure.csv").write_text("sure\n")
if chance.random() < 0.5:
    Path("tables").mkdir()
    Path("tables/kept.txt").write_text("kept\n")
Path("beside").mkdir()
Path("beside/out.csv").write_text("out\n")
