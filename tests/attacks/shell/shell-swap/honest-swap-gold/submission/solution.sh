#!/bin/bash
exec python3 - "$1" "$2" <<'END'
import os
import sys

old, new = map(os.fsencode, sys.argv[1:])
count = 0
for folder, _, names in os.walk(b"."):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
        found = lines.count(old)
        if found:
            count += found
            with open(path, "wb") as file:
                file.write(b"\n".join(new if line == old else line for line in lines))
print(count)
END
