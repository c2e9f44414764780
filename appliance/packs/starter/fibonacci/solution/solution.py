def fibonacci(n: int) -> list[int]:
    """Return the first n Fibonacci numbers, starting with 0 and 1.

    >>> fibonacci(5)
    [0, 1, 1, 2, 3]
    """
    result = []
    a, b = 0, 1
    for _ in range(n):
        result.append(a)
        a, b = b, a + b
    return result
