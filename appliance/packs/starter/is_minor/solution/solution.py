def is_minor(age: int) -> bool:
    """Return True if age is less than 18.

    >>> is_minor(12)
    True
    """
    return age < 18
