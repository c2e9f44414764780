def assign_rooms(meetings: list[list[int]]) -> list[int]:
    ends: list[int] = []
    rooms = [0] * len(meetings)
    for place in sorted(range(len(meetings)), key=lambda place: meetings[place][0]):
        start, end = meetings[place]
        for room, busy in enumerate(ends):
            if busy <= start:
                ends[room] = end
                rooms[place] = room + 1
                break
        else:
            ends.append(end)
            rooms[place] = len(ends)
    return rooms
