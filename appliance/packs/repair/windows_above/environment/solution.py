def windows_above(values: list[int], size: int, limit: int) -> int:
    found = 0
    for start in range(len(values) - size):
        if sum(values[start : start + size]) > limit:
            found += 1
    return found
