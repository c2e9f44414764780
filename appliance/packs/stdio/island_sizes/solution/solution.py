import sys

lines = sys.stdin.read().split()[2:]
land = {(y, x) for y, line in enumerate(lines) for x, mark in enumerate(line) if mark == "#"}
sizes = []
while land:
    stack = [land.pop()]
    size = 0
    while stack:
        y, x = stack.pop()
        size += 1
        for cell in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if cell in land:
                land.remove(cell)
                stack.append(cell)
    sizes.append(size)
print(*(sorted(sizes) or ["none"]))
