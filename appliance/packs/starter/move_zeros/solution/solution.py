def move_zeros(numbers: list[int]) -> list[int]:
    """Move all zeros to the end and keep the order of the other numbers.

    >>> move_zeros([0, 1, 0, 2])
    [1, 2, 0, 0]
    """
    return sorted(numbers, key=lambda n: n == 0)
