count = int(input())
calls = [tuple(map(int, input().split())) for _ in range(count)]
answer = [None] * count
height, up, minute = 0, True, -1
wanted = {}
while None in answer:
    minute += 1
    for place, (come, floor) in enumerate(calls):
        if come == minute:
            wanted.setdefault(floor, []).append(place)
    for place in wanted.pop(height, ()):
        answer[place] = minute
    if not wanted:
        continue
    if up and max(wanted) < height:
        up = False
    elif not up and min(wanted) > height:
        up = True
    height += 1 if up else -1
print(" ".join(map(str, answer)))
