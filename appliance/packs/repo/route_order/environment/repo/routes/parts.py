"""Parts of paths."""

from routes.errors import RouteError


def split(path):
    """The parts of a path such as `/a/b`; a `/` at the end counts for nothing. RouteError without one at the beginning."""
    if not path.startswith("/"):
        raise RouteError(f"{path!r} does not begin with /")
    return [part for part in path.split("/") if part]


def join(parts):
    """The path that is made of these parts."""
    return "/" + "/".join(parts)
