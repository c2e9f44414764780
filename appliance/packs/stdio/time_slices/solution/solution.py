import sys

count, quantum, *numbers = map(int, sys.stdin.read().split())
arrivals, left = numbers[::2], numbers[1::2]
coming, queue, minute = list(range(count)), [], 0
done = [0] * count
while queue or coming:
    if not queue:
        minute = arrivals[coming[0]]
        queue.append(coming.pop(0))
    job = queue.pop(0)
    turn = min([quantum, left[job]])
    minute += turn
    left[job] -= turn
    while coming and arrivals[coming[0]] <= minute:
        queue.append(coming.pop(0))
    if left[job] == 0:
        done[job] = minute
    else:
        queue.append(job)
print(*done)
