def digit_hand():
    """Return the number of fingers of one hand."""
    return 