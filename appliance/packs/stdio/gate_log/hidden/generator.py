import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
for _ in range(draw.randint(1, 40)):
    print(draw.choice(["in", "in", "out"]), draw.choice(["ann", "bo", "cy", "dee", "ed", "flo", "gus"]))
