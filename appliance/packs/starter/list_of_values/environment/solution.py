def list_of_values(data: dict[str, int]) -> list[int]:
    """Return a list of the values of data.

    >>> list_of_values({'key': -4, 'b': 5})
    [-4, 5]
    """
