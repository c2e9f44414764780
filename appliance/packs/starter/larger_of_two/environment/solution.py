def larger_of_two(a: int, b: int) -> int:
    """Return the larger number: max(a, b).

    >>> larger_of_two(3, 8)
    8
    """
