import sys

lines = sys.stdin.read().splitlines()
width = max(len(line) for line in lines)
edge = "+" + "-" * (width + 2) + "+"
print(edge)
for line in lines:
    print("| " + line + " " * (width - len(line)) + " |")
print(edge)
