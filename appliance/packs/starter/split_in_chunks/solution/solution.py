def split_in_chunks(items: list, size: int) -> list:
    """Split items into lists of the given size; the last one may be shorter.

    >>> split_in_chunks([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    """
    return [items[i:i + size] for i in range(0, len(items), size)]
