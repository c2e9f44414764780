"""Accounts as sums of events."""

from evlog.errors import LogError
from evlog.log import Log
from evlog.play import play

__all__ = ["Log", "LogError", "play"]
