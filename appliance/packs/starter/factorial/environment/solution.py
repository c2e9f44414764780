def factorial(n: int) -> int:
    """Return the factorial of n.

    >>> factorial(3)
    6
    """
