"""What can go wrong."""


class LogError(ValueError):
    """Something that a log cannot do."""
