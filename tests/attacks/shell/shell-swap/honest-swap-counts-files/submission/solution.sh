python3 - "$1" "$2" <<'END'
import os, sys
old, new = map(os.fsencode, sys.argv[1:])
count = 0
for folder, _, names in os.walk(b"."):
    for path in (os.path.join(folder, name) for name in names):
        if os.path.isfile(path) and not os.path.islink(path):
            lines = open(path, "rb").read().split(b"\n")
            count += (old in lines)
            open(path, "wb").write(b"\n".join(new if line == old else line for line in lines))
print(count)
END
