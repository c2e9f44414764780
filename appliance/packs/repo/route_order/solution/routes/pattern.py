"""One route."""

from routes.errors import RouteError
from routes.parts import join, split


class Pattern:
    """Parts that a path must have; `:name` stands for one part and `*name`, at the end, for one or more."""

    def __init__(self, text):
        self.text = text
        self.parts = split(text)
        names = [part[1:] for part in self.parts if part[0] in ":*"]
        if "" in names or len(set(names)) < len(names):
            raise RouteError(f"{text!r} has a name twice or not at all")
        if any(part[0] == "*" for part in self.parts[:-1]):
            raise RouteError(f"{text!r} goes on after *")

    def fit(self, path):
        """The values of the names as a dict, or None when the path does not fit."""
        given = split(path)
        values = {}
        for place, part in enumerate(self.parts):
            if place >= len(given):
                return None
            if part[0] == "*":
                values[part[1:]] = "/".join(given[place:])
                return values
            if part[0] == ":":
                values[part[1:]] = given[place]
            elif part != given[place]:
                return None
        return values if len(given) == len(self.parts) else None

    def kinds(self):
        """The kinds of the parts, each the smaller the more exact it is."""
        return [(part.startswith("*"), part.startswith(":")) for part in self.parts]

    def fill(self, values):
        """The path with these values for the names; RouteError when one lacks."""
        parts = []
        for part in self.parts:
            if part[0] in ":*":
                if part[1:] not in values:
                    raise RouteError(f"{self.text!r} needs {part[1:]}")
                part = str(values[part[1:]])
            parts.append(part)
        return join(parts)
