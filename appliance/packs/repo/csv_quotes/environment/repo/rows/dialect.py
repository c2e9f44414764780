"""How rows are written."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The separator and the quote, one character each."""

    separator: str = ","
    quote: str = '"'

    def __post_init__(self):
        if len(self.separator) != 1 or len(self.quote) != 1 or self.separator == self.quote:
            raise ValueError("separator and quote must be two different characters")
