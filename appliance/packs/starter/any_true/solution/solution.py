def any_true(flags: list[bool]) -> bool:
    """Return True if any of the flags is True.

    >>> any_true([True, False])
    True
    """
    return any(flags)
