import sys

words = sys.stdin.read().split()
capacity = int(words[0])
level = spilled = lacking = 0
for sign, litres in zip(words[2::2], words[3::2]):
    level += int(litres) if sign == "+" else -int(litres)
    spilled += max([level - capacity, 0])
    lacking += max([-level, 0])
    level = sorted([0, level, capacity])[1]
print(level, spilled, lacking)
