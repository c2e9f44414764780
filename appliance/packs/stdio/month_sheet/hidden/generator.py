import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
print(draw.randint(1901, 2099), draw.choice([2, 2, *range(1, 13)]))
