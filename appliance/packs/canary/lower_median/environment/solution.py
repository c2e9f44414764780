def lower_median(numbers: list[int]) -> int:
    """Return the middle number."""
