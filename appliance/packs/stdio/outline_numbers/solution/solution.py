import sys

counts = []
for line in sys.stdin.read().splitlines():
    title = line.lstrip()
    level = (len(line) - len(title)) // 2
    counts = counts[: level + 1]
    if level == len(counts):
        counts.append(0)
    counts[level] += 1
    print(".".join(map(str, counts)), title)
