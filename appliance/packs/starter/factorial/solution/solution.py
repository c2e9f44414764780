def factorial(n: int) -> int:
    """Return the factorial of n.

    >>> factorial(3)
    6
    """
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result
