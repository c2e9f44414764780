import sys

numbers = list(map(int, sys.stdin.read().split()))[1:]
calls = list(zip(numbers[::2], numbers[1::2]))
served = {}
floor, way = 0, 1
minute = 0
while len(served) < len(calls):
    waiting = [place for place, (begin, _) in enumerate(calls) if begin <= minute and place not in served]
    for place in waiting:
        if calls[place][1] == floor:
            served[place] = minute
    ahead = [(calls[place][1] - floor) * way for place in waiting if place not in served]
    if ahead:
        if max(ahead) < 0:
            way = -way
        floor += way
    minute += 1
print(*(served[place] for place in range(len(calls))))
