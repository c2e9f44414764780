def halved_all(numbers: list[int]) -> list[float]:
    """Return a list of the numbers divided by 2.

    >>> halved_all([8, 25, -30, -4, -30, 100])
    [4.0, 12.5, -15.0, -2.0, -15.0, 50.0]
    """
    return [n / 2 for n in numbers]
