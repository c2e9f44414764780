def make_dict(key: str, value: int) -> dict[str, int]:
    """Return a dictionary with key and value.

    >>> make_dict('house', 25)
    {'house': 25}
    """
