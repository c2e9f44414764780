def told_by_day(friends: dict[str, list[str]], first: str, days: int) -> list[int]:
    knowing = [first]
    counts = [1]
    for _ in range(days):
        for name in list(knowing):
            for friend in friends[name]:
                if friend not in knowing:
                    knowing.append(friend)
        counts.append(len(knowing))
    return counts
