"""What can go wrong."""


class CalcError(ValueError):
    """A text that is no expression, or one without a value."""

    def __init__(self, reason, position=None):
        super().__init__(reason if position is None else f"{reason} at {position}")
        self.position = position
