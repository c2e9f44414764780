"""What can go wrong with a span."""


class SpanError(ValueError):
    """A text that is no span."""

    def __init__(self, text, reason):
        super().__init__(f"{text!r}: {reason}")
        self.text = text
        self.reason = reason
