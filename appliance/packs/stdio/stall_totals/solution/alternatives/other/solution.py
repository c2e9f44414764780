from collections import Counter

number, total = Counter(), Counter()
for _ in range(int(input())):
    name, cents = input().split()
    number[name] += 1
    total[name] += int(cents)
names = sorted(number)
names.sort(key=lambda name: total[name], reverse=True)
lines = [f"{name} {number[name]} {total[name]}" for name in names]
print("\n".join(lines) if lines else "no sales")
