def add_lists(a: list[int], b: list[int]) -> list[int]:
    """Add two lists of the same length element by element.

    >>> add_lists([1, 2], [10, 20])
    [11, 22]
    """
