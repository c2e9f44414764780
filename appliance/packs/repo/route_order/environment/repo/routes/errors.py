"""What can go wrong."""


class RouteError(ValueError):
    """A route that cannot be read, or that is there already."""


class NoRoute(RouteError):
    """Nothing fits."""

    def __init__(self, what):
        super().__init__(f"no route for {what!r}")
        self.what = what
