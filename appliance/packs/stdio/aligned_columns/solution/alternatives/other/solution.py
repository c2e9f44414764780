import re
import sys
from itertools import zip_longest

rows = [line.split(",") for line in sys.stdin.read().splitlines()]
columns = []
for cells in zip_longest(*rows, fillvalue=""):
    width = len(max(cells, key=len))
    columns.append([f"{c:>{width}}" if re.fullmatch("-?[0-9]+", c) else f"{c:<{width}}" for c in cells])
for line in zip(*columns):
    print("  ".join(line).rstrip(" "))
