import sys

picture = []
for line in sys.stdin.read().splitlines():
    colour, cells = ".", []
    for length in map(int, line.split()):
        cells.extend([colour] * length)
        colour = "#" if colour == "." else "."
    picture.append(cells)
longest = len(max(picture, key=len))
for cells in picture:
    print("".join(cells) + "." * (longest - len(cells)))
