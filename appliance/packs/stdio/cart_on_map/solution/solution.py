import sys

_, _, *rows, moves = sys.stdin.read().split()
free = {(y, x) for y, row in enumerate(rows, 1) for x, mark in enumerate(row, 1) if mark != "#"}
[(y, x)] = [place for place in free if rows[place[0] - 1][place[1] - 1] == "@"]
missed = 0
for move in moves:
    down = (move == "S") - (move == "N")
    right = (move == "E") - (move == "W")
    if (y + down, x + right) in free:
        y += down
        x += right
    else:
        missed += 1
print(y, x, missed)
