import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
rows, columns = draw.randint(2, 9), draw.randint(2, 9)
marks = draw.choices("#....", k=rows * columns)
spots = draw.sample(range(len(marks)), 4)
for spot, mark in zip(spots, "PE" + draw.choice(["F.", "FE", "FF", ".."])):
    marks[spot] = mark
print(rows, columns)
for row in range(rows):
    print("".join(marks[row * columns : (row + 1) * columns]))
