import sys

rows = sys.stdin.read().split()[2:]
places = {(y, x): mark for y, row in enumerate(rows) for x, mark in enumerate(row) if mark != "#"}
fire = {place for place in places if places[place] == "F"}
exits = {place for place in places if places[place] == "E"}
edge = {place for place in places if places[place] == "P"}
known = set(edge)


def around(cells):
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    return {(y + down, x + right) for y, x in cells for down, right in steps} & places.keys()


minutes = 0
while edge and not edge & exits:
    minutes += 1
    fire |= around(fire)
    edge = around(edge) - fire - known
    known |= edge
print(minutes if edge else "trapped")
