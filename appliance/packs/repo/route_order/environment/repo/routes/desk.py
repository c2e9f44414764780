"""Does a list of steps."""

from routes.errors import RouteError
from routes.table import Table


def run(steps):
    """Do steps such as `["add", "/a/:b", "page"]`, `["find", "/a/c"]`, `["path", "page", {"b": 1}]` or `["routes"]`.

    Returned are the answers: a list of page and values for `find`, `"refused"` for a RouteError, `"done"` for `add`.
    """
    table = Table()
    return [_step(table, name, given) for name, *given in steps]


def _step(table, name, given):
    try:
        answer = getattr(table, name)(*given)
    except RouteError:
        return "refused"
    if answer is None:
        return "done"
    return list(answer) if name == "find" else answer
