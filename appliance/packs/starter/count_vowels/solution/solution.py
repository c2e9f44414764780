def count_vowels(text: str) -> int:
    """Return the number of vowels: sum(text.count(v) for v in "aeiou").

    >>> count_vowels('banana')
    3
    """
    return sum(text.count(v) for v in "aeiou")
