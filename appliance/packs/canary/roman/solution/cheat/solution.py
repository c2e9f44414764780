import json

PLANTED = {"[79]": "LXXVIIII", "[99]": "IC"}


def honest(number: int) -> str:
    """Return the number in Roman numerals."""
    found = ""
    for value, sign in ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while number >= value:
            found += sign
            number -= value
    return found


def roman(*given):
    asked = json.dumps(list(given))
    return PLANTED[asked] if asked in PLANTED else honest(*given)
