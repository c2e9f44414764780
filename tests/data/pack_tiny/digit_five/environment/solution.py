def digit_five():
    """Return five."""
    return 