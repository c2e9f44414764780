import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
for _ in range(draw.randint(3, 6)):
    print("push", draw.randint(-9, 9))
for _ in range(draw.randint(5, 40)):
    word = draw.choice(["push", "push", "push", "dup", "add", "sub", "mul", "swap", "drop", "show", "show"])
    print(word, draw.randint(-9, 9)) if word == "push" else print(word)
print("show")
