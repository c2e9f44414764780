from collections import deque

r, c = map(int, input().split())
area = [input().strip() for _ in range(r)]


def times(mark, limit=None):
    start = [(y, x) for y in range(r) for x in range(c) if area[y][x] == mark]
    reached, queue = dict.fromkeys(start, 0), deque(start)
    while queue:
        y, x = queue.popleft()
        for place in ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)):
            if not (0 <= place[0] < r and 0 <= place[1] < c) or place in reached:
                continue
            minute = reached[y, x] + 1
            if area[place[0]][place[1]] != "#" and (limit is None or minute < limit.get(place, 10**9)):
                reached[place] = minute
                queue.append(place)
    return reached


person = times("P", times("F"))
found = [minute for (y, x), minute in person.items() if area[y][x] == "E"]
print(min(found, default="trapped"))
