import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
count = draw.randint(1, 12)
names = draw.sample([first + second for first in "bdfgk" for second in "aeiou"], count)
rows = []
for place, name in enumerate(names):
    needs = draw.sample(names[:place], min(place, draw.choice([0, 1, 1, 2, 3])))
    rows.append(" ".join([name, str(draw.randint(1, 30)), *needs]))
draw.shuffle(rows)
print(count, *rows, sep="\n")
