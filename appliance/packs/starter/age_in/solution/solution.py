def age_in(birth_year: int, year: int) -> int:
    """Return the age in year of someone born in birth_year.

    >>> age_in(1949, 2034)
    85
    """
    return year - birth_year
