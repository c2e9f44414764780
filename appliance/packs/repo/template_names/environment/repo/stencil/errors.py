"""What can go wrong."""


class TemplateError(ValueError):
    """A template that cannot be read."""


class UnknownName(TemplateError):
    """A name that stands for nothing."""

    def __init__(self, name):
        super().__init__(f"there is no {name!r}")
        self.name = name
