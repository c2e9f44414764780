import sys

rows = [line.rstrip("\n").split(",") for line in sys.stdin]
widths = {}
for row in rows:
    for column, cell in enumerate(row):
        widths[column] = max([widths.get(column, 0), len(cell)])
for row in rows:
    shown = []
    for column, cell in enumerate(row):
        number = cell.removeprefix("-").isdigit()
        shown.append(cell.rjust(widths[column]) if number else cell.ljust(widths[column]))
    print("  ".join(shown).rstrip())
