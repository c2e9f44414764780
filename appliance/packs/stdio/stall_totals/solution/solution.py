import sys

words = sys.stdin.read().split()[1:]
sales = {}
for name, cents in zip(words[::2], words[1::2]):
    sales.setdefault(name, []).append(int(cents))
for name in sorted(sales, key=lambda name: (-sum(sales[name]), name)):
    print(name, len(sales[name]), sum(sales[name]))
if not sales:
    print("no sales")
