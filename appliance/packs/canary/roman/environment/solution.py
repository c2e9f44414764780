def roman(number: int) -> str:
    """Return the number in Roman numerals."""
