def difference_of_squares(a: int, b: int) -> int:
    """Return a squared minus b squared.

    >>> difference_of_squares(-30, 3)
    891
    """
    return a ** 2 - b ** 2
