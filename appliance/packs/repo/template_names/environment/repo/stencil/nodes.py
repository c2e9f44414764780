"""What a template is made of."""

from dataclasses import dataclass, field


@dataclass
class Text:
    text: str


@dataclass
class Value:
    """Stands for what a name means."""

    name: str


@dataclass
class Put:
    """Gives a name a value: a text."""

    name: str
    text: str


@dataclass
class Loop:
    """Repeats its body for each item of a list."""

    item: str
    name: str
    body: list = field(default_factory=list)


@dataclass
class Choice:
    """Its body, when the name means something that is not empty; a name that is not known counts as empty."""

    name: str
    body: list = field(default_factory=list)
