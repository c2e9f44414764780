def swap_history(items, swaps):
    history = [items]
    for i, j in swaps:
        moved = {i: j, j: i}
        last = history[-1]
        history.append([last[moved.get(place, place)] for place in range(len(last))])
    return history
