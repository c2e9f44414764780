def lower_median(numbers: list[int]) -> int:
    """Return the middle number."""
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) // 2]
