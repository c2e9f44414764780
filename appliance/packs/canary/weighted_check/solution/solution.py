def weighted_check(digits: str) -> int:
    """Return the check number of the digits."""
    return sum(int(digit) * weight for weight, digit in enumerate(reversed(digits), 2)) % 11
