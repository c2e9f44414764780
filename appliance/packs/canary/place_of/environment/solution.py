def place_of(items: list[int], wanted: int) -> int:
    """Return the position of an item, counted from 1."""
