"""Does a list of steps on a new log."""

from evlog.errors import LogError
from evlog.log import Log


def play(steps):
    """The answers to steps such as `["add", "ann", 5]` or `["balances"]`; `"refused"` for a LogError."""
    log, answers = Log(), []
    for name, *given in steps:
        try:
            answers.append(getattr(log, name)(*given))
        except LogError:
            answers.append("refused")
    return answers
