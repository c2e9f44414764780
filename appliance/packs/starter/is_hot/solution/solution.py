def is_hot(temperature: int) -> bool:
    """Return True if temperature is greater than 30.

    >>> is_hot(33)
    True
    """
    return temperature > 30
