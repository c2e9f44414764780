def pass_or_fail(points: int) -> str:
    """Return "pass" if points >= 50 else "fail".

    >>> pass_or_fail(80)
    'pass'
    """
