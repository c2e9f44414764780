def digit_week():
    """Return the number of days in a week."""
    return 7
