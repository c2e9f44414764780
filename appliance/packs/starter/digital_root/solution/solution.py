def digital_root(n: int) -> int:
    """Replace n by the sum of its digits until n < 10.

    >>> digital_root(38)
    2
    """
    while n >= 10:
        n = sum(int(digit) for digit in str(n))
    return n
