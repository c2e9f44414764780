import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
count = draw.randint(1, 30)
print(count)
for _ in range(count):
    print(draw.choice(["ann", "bo", "cy", "dee", "ed"]), draw.choice([10, 20, 30, draw.randint(1, 999)]))
