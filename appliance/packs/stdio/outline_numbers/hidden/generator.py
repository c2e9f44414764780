import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
level = -1
for _ in range(draw.randint(1, 25)):
    level = draw.randint(0, min(level + 1, 4))
    print("  " * level + draw.choice(["Aims", "Scope of work", "Tools", "Cost"]))
