def swap_keys_and_values(data: dict[str, str]) -> dict[str, str]:
    """Swap the keys and the values of the dictionary.

    >>> swap_keys_and_values({'a': 'x'})
    {'x': 'a'}
    """
    return {value: key for key, value in data.items()}
