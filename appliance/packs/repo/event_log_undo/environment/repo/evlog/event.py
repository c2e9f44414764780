"""One event."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """A change of one account; `number` counts the events of a log from 1."""

    number: int
    account: str
    amount: int
