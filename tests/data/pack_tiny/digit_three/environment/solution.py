def digit_three():
    """Return three."""
    return 