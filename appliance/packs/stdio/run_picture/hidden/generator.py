import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
for _ in range(draw.randint(1, 8)):
    print(*(draw.choice([0, 1, 2, draw.randint(0, 7)]) for _ in range(draw.randint(1, 7))))
