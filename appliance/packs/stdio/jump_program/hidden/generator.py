import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
def value():
    return draw.choice([*"abcd", draw.randint(-5, 9)])


count = draw.randint(4, 12)
for line in range(1, count + 1):
    word = draw.choice(["set", "add", "add", "show", "show", "less", "jump"])
    if word == "show":
        print(word, value())
    elif word == "jump":
        print(word, draw.randint(min(line + 1, count + 1), count + 1))
    elif word == "less":
        print(word, value(), value(), draw.randint(1, count + 1))
    else:
        print(word, draw.choice("abcd"), value())
