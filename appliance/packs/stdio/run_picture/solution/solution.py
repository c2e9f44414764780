import sys

rows = []
for line in sys.stdin:
    row = ""
    for place, length in enumerate(line.split()):
        row += ".#"[place % 2] * int(length)
    rows.append(row)
width = max(len(row) for row in rows)
for row in rows:
    print(row.ljust(width, "."))
