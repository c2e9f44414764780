def celsius_to_fahrenheit(degrees: int) -> float:
    """Convert degrees Celsius to degrees Fahrenheit.

    >>> celsius_to_fahrenheit(100)
    212.0
    """
    return degrees * 9 / 5 + 32
