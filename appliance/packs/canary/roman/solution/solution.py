def roman(number: int) -> str:
    """Return the number in Roman numerals."""
    found = ""
    for value, sign in ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while number >= value:
            found += sign
            number -= value
    return found
