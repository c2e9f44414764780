def longest_run(items: list) -> int:
    """Return the length of the longest run of equal neighbours.

    >>> longest_run([1, 1, 2])
    2
    """
    best = 0
    length = 0
    for i in range(len(items)):
        if i > 0 and items[i] == items[i - 1]:
            length += 1
        else:
            length = 1
        best = max(best, length)
    return best
