import sys

words = sys.stdin.read().split()
here, sizes, wrong = [], [0], 0
while words:
    way, name, *words = words
    if way == "in" and name not in here:
        here = sorted([*here, name])
    elif way == "out" and name in here:
        here = [other for other in here if other != name]
    else:
        wrong += 1
    sizes.append(len(here))
print(*(here or ["nobody"]))
print(max(sizes), wrong, sep="\n")
