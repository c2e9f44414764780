def swap_keys_and_values(data: dict[str, str]) -> dict[str, str]:
    """Swap keys and values: {value: key for key, value in data.items()}.

    >>> swap_keys_and_values({'a': 'x'})
    {'x': 'a'}
    """
