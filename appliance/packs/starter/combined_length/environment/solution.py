def combined_length(a: list, b: list) -> int:
    """Return the length of a plus the length of b.

    >>> combined_length([1, 'b', 0, 2, 1], [2])
    6
    """
