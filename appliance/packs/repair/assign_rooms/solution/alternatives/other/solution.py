import heapq


def assign_rooms(meetings):
    free, busy, used, answer = [], [], 0, {}
    for start, place in sorted((meeting[0], place) for place, meeting in enumerate(meetings)):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            used += 1
            heapq.heappush(free, used)
        answer[place] = heapq.heappop(free)
        heapq.heappush(busy, (meetings[place][1], answer[place]))
    return [answer[place] for place in range(len(meetings))]
