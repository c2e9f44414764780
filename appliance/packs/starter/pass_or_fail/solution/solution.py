def pass_or_fail(points: int) -> str:
    """Return "pass" for 50 points or more, and "fail" for less.

    >>> pass_or_fail(80)
    'pass'
    """
    return "pass" if points >= 50 else "fail"
