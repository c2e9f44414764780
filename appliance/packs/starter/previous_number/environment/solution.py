def previous_number(n: int) -> int:
    """Return n minus 1.

    >>> previous_number(-1)
    -2
    """
