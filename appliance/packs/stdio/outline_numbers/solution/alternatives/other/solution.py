import sys

seen = {}
path = {}
for line in sys.stdin:
    depth = 0
    while line.startswith("  "):
        line, depth = line[2:], depth + 1
    parent = path.get(depth - 1, "")
    seen[parent] = seen.get(parent, 0) + 1
    path[depth] = f"{parent}{seen[parent]}."
    print(path[depth][:-1], line, end="")
