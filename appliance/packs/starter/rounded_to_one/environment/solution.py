def rounded_to_one(x: float) -> float:
    """Return x rounded to 1 decimal place.

    >>> rounded_to_one(0.24)
    0.2
    """
