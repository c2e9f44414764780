def split_in_chunks(items: list, size: int) -> list:
    """Split items into chunks: [items[i:i + size] for i in range(0, len(items), size)].

    >>> split_in_chunks([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    """
    return [items[i:i + size] for i in range(0, len(items), size)]
