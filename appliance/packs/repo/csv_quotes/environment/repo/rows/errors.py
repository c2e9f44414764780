"""What can go wrong."""


class RowError(ValueError):
    """A text that is not made of rows; `line` counts from 1."""

    def __init__(self, reason, line):
        super().__init__(f"line {line}: {reason}")
        self.line = line
