"""What can go wrong."""


class RuleError(ValueError):
    """A rule that cannot be read."""

    def __init__(self, text):
        super().__init__(f"{text!r} is no rule")
        self.text = text
