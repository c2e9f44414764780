import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
for _ in range(draw.randint(1, 8)):
    print("".join(draw.choices("abc  d", k=draw.randint(0, 20))).rstrip())
