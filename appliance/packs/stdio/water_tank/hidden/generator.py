import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
count = draw.randint(1, 40)
print(draw.randint(5, 60), count)
for _ in range(count):
    print(draw.choice("+-"), draw.randint(0, 40))
