from collections import deque

count, quantum = map(int, input().split())
jobs = [tuple(map(int, input().split())) for _ in range(count)]
queue, now, number, used = deque(), None, 0, 0
finished, minute = {}, 0
rest = [work for _, work in jobs]
while len(finished) < count:
    queue.extend(place for place, job in enumerate(jobs) if job[0] == minute)
    if now is not None:
        rest[now] -= 1
        used += 1
        if rest[now] == 0:
            finished[now] = minute
            now = None
        elif used == quantum:
            queue.append(now)
            now = None
    if now is None and queue:
        now, used = queue.popleft(), 0
    minute += 1
print(" ".join(str(finished[place]) for place in range(count)))
