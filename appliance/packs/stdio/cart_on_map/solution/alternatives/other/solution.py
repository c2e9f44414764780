r, c = map(int, input().split())
area = ["#" * (c + 2)] + ["#" + input().strip() + "#" for _ in range(r)] + ["#" * (c + 2)]
flat = "".join(area)
place = flat.index("@")
blocked = 0
for move in input().strip():
    to = place + {"N": -c - 2, "S": c + 2, "W": -1, "E": 1}[move]
    if flat[to] == "#":
        blocked += 1
    else:
        place = to
print(place // (c + 2), place % (c + 2), blocked)
