"""What can go wrong."""


class CircleError(ValueError):
    """Jobs that need each other in a circle; `path` begins and ends with the same job."""

    def __init__(self, path):
        super().__init__(" -> ".join(path))
        self.path = path
