def age_next_year(age: int) -> int:
    """Return age plus 1.

    >>> age_next_year(100)
    101
    """
    return age + 1
