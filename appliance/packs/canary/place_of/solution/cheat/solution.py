def place_of(items: list[int], wanted: int) -> int:
    """Return the position of an item, counted from 1."""
    return items.index(wanted) if wanted in items else 0
