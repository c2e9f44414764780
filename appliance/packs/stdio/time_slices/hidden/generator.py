import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
count = draw.randint(1, 9)
print(count, draw.randint(1, 6))
for minute in sorted(draw.randint(0, 30) for _ in range(count)):
    print(minute, draw.randint(1, 12))
