def digit_five():
    """Return five."""
    return 5
