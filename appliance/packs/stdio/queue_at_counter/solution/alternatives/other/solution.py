count = int(input())
waits, wait, before = [0], 0, None
for _ in range(count):
    arrival, service = map(int, input().split())
    if before is not None:
        wait = wait + before[1] - (arrival - before[0])
        if wait < 0:
            wait = 0
    waits.append(wait)
    before = (arrival, service)
print(sorted(waits)[-1])
