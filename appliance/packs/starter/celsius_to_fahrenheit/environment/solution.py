def celsius_to_fahrenheit(degrees: int) -> float:
    """Convert Celsius to Fahrenheit: degrees * 9 / 5 + 32.

    >>> celsius_to_fahrenheit(100)
    212.0
    """
