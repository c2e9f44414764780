import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
count = draw.randint(1, 60)
print(count)
for arrival in sorted(draw.randint(0, 200) for _ in range(count)):
    print(arrival, draw.randint(0, 6))
