def digit_seven():
    """Return seven."""
    return 7
