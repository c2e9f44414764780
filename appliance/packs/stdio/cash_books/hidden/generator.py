import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
names = ["ann", "bo", "cy"]
for name in draw.sample(names, 2):
    print("open", name)
for _ in range(draw.randint(3, 25)):
    word = draw.choice(["open", "put", "put", "send", "send", "send", "undo", "undo"])
    if word == "open":
        print(word, draw.choice(names))
    elif word == "put":
        print(word, draw.choice(names), draw.randint(1, 50))
    elif word == "send":
        print(word, draw.choice(names), draw.choice(names), draw.randint(1, 30))
    else:
        print(word)
