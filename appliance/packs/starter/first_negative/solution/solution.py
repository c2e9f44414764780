def first_negative(numbers: list[int]) -> int | None:
    """Return the first negative number, or None.

    >>> first_negative([3, -1, -2])
    -1
    """
    for n in numbers:
        if n < 0:
            return n
    return None
