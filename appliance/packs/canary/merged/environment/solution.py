def merged(left: list[int], right: list[int]) -> list[int]:
    """Return both sorted lists as one."""
