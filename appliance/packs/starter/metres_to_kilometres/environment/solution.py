def metres_to_kilometres(metres: int) -> float:
    """Convert metres to kilometres.

    >>> metres_to_kilometres(10)
    0.01
    """
