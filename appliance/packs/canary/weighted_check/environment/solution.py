def weighted_check(digits: str) -> int:
    """Return the check number of the digits."""
