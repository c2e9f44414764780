import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
for _ in range(draw.randint(1, 8)):
    cells = []
    for _ in range(draw.randint(1, 5)):
        number = str(draw.randint(-200, 2000))
        text = "".join(draw.choices("abc-.1", k=draw.randint(0, 6)))
        cells.append(draw.choice([number, text, text]))
    print(",".join(cells))
