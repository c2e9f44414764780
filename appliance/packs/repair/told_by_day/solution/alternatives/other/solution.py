def told_by_day(friends, first, days):
    knowing = {first}
    counts = []
    for day in range(days + 1):
        counts.append(len(knowing))
        knowing = knowing.union(*(friends[name] for name in knowing))
    return counts
