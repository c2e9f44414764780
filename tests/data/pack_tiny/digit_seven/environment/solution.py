def digit_seven():
    """Return seven."""
    return 