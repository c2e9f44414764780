"""All routes."""

from routes.errors import NoRoute, RouteError
from routes.pattern import Pattern


def _exactness(route):
    return "".join({":": "b", "*": "c"}.get(part[0], "a") for part in route[0].parts)


class Table:
    """Routes, each with the page that it leads to."""

    def __init__(self):
        self._routes = []

    def add(self, text, page):
        """Add a route; RouteError if it is there already."""
        if text in [pattern.text for pattern, _ in self._routes]:
            raise RouteError(f"{text!r} is there already")
        self._routes.append((Pattern(text), page))

    def routes(self):
        """The texts of all routes in the order in which they were added."""
        return [pattern.text for pattern, _ in self._routes]

    def find(self, path):
        """The page that a path leads to, and the values of the names; NoRoute if there is none."""
        for pattern, page in sorted(self._routes, key=_exactness):
            values = pattern.fit(path)
            if values is not None:
                return page, values
        raise NoRoute(path)

    def path(self, page, values):
        """The path of a page, by the first route that leads to it; NoRoute if there is none."""
        for pattern, known in self._routes:
            if known == page:
                return pattern.fill(values)
        raise NoRoute(page)
