import sys

inside = set()
most = faults = 0
for line in sys.stdin:
    way, name = line.split()
    if (way == "in") == (name in inside):
        faults += 1
    elif way == "in":
        inside.add(name)
        most = max([most, len(inside)])
    else:
        inside.remove(name)
print(" ".join(sorted(inside)) or "nobody")
print(most)
print(faults)
