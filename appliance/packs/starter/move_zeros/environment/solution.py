def move_zeros(numbers: list[int]) -> list[int]:
    """Move the zeros to the end: sorted(numbers, key=lambda n: n == 0).

    >>> move_zeros([0, 1, 0, 2])
    [1, 2, 0, 0]
    """
