"""All routes."""

from routes.errors import NoRoute, RouteError
from routes.pattern import Pattern


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
        best = None
        for pattern, page in self._routes:
            values = pattern.fit(path)
            if values is None:
                continue
            exact = tuple(-1 if part[0] == ":" else -2 if part[0] == "*" else 0 for part in pattern.parts)
            if best is None or exact > best[0]:
                best = exact, page, values
        if best is None:
            raise NoRoute(path)
        return best[1:]

    def path(self, page, values):
        """The path of a page, by the first route that leads to it; NoRoute if there is none."""
        for pattern, known in self._routes:
            if known == page:
                return pattern.fill(values)
        raise NoRoute(page)
