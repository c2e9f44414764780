"""What an expression is made of. A number stands for itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Negative:
    """The sign before something."""

    of: object


@dataclass(frozen=True)
class Pair:
    """Two things and the operator between them."""

    sign: str
    left: object
    right: object
