def all_true(flags: list[bool]) -> bool:
    """Return True if all flags are True.

    >>> all_true([True])
    True
    """
