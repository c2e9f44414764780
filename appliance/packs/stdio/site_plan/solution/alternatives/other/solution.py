count = int(input())
rows = [input().split() for _ in range(count)]
ends = {}
while len(ends) < count:
    for name, days, *needs in rows:
        if name not in ends and all(need in ends for need in needs):
            begin = 0
            for need in needs:
                if ends[need] > begin:
                    begin = ends[need]
            ends[name] = begin + int(days)
for name, days, *_ in rows:
    print(f"{name} {ends[name] - int(days)} {ends[name]}")
print("total " + str(sorted(ends.values())[-1]))
