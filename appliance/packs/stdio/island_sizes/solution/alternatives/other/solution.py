rows, columns = map(int, input().split())
grid = "".join(input().strip() for _ in range(rows))
parent = list(range(rows * columns))


def root(cell):
    while parent[cell] != cell:
        cell = parent[cell]
    return cell


for cell, mark in enumerate(grid):
    if mark == "#":
        if cell % columns and grid[cell - 1] == "#":
            parent[root(cell)] = root(cell - 1)
        if cell >= columns and grid[cell - columns] == "#":
            parent[root(cell)] = root(cell - columns)
roots = [root(cell) for cell, mark in enumerate(grid) if mark == "#"]
print(" ".join(map(str, sorted(roots.count(top) for top in set(roots)))) or "none")
