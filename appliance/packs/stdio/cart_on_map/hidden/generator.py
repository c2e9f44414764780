import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
rows, columns = draw.randint(2, 7), draw.randint(2, 7)
marks = draw.choices("#...", k=rows * columns)
marks[draw.randrange(len(marks))] = "@"
print(rows, columns)
for row in range(rows):
    print("".join(marks[row * columns : (row + 1) * columns]))
print("".join(draw.choices("NESW", k=draw.randint(1, 25))))
