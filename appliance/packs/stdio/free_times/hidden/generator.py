import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
a = draw.randint(0, 500)
b = draw.randint(a + 50, 1100)
count = draw.randint(0, 12)
print(a, b, draw.randint(1, 60))
print(count)
for _ in range(count):
    start = draw.randint(0, 1200)
    print(start, start + draw.randint(1, 120))
