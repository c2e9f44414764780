def nearest_ten(number: int) -> int:
    """Return the nearest multiple of ten, upwards where two are as near."""
    return (number + 4) // 10 * 10
