capacity, count = map(int, input().split())
level, spilled, lacking = 0, 0, 0
for _ in range(count):
    sign, litres = input().split()
    litres = int(litres)
    if sign == "+":
        room = capacity - level
        if litres > room:
            spilled += litres - room
            litres = room
        level += litres
    else:
        if litres > level:
            lacking += litres - level
            litres = level
        level -= litres
print(level, spilled, lacking)
