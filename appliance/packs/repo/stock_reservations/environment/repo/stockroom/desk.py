"""Does a list of steps, as they come from the desk."""

from stockroom.errors import StockError
from stockroom.room import Room


def run(steps):
    """Do steps such as `["receive", "cup", 3]` or `["reserve", "order", {"cup": 1}]` in a new room.

    Returned are the answers: the number for `count` and `available`, `"refused"` for a StockError, else `"done"`.
    """
    room = Room()
    return [_step(room, name, given) for name, *given in steps]


def _step(room, name, given):
    try:
        answer = getattr(room, name)(*given)
    except StockError:
        return "refused"
    return "done" if answer is None else answer
