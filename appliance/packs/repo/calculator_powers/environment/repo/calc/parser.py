"""Reads an expression into a tree."""

from calc.errors import CalcError
from calc.tokens import tokens
from calc.tree import Negative, Pair


class _Reader:
    def __init__(self, text):
        self.rest = tokens(text)

    def next(self):
        return self.rest[0][0] if self.rest else None

    def take(self):
        return self.rest.pop(0)[0]

    def fail(self, reason):
        raise CalcError(reason, self.rest[0][1] if self.rest else None)


def parse(text):
    """The tree of an expression; CalcError when the text is none."""
    reader = _Reader(text)
    tree = _sum(reader)
    if reader.rest:
        reader.fail("left over")
    return tree


def _sum(reader):
    tree = _product(reader)
    while reader.next() in ("+", "-"):
        tree = Pair(reader.take(), tree, _product(reader))
    return tree


def _product(reader):
    tree = _signed(reader)
    while reader.next() in ("*", "/", "%"):
        tree = Pair(reader.take(), tree, _signed(reader))
    return tree


def _signed(reader):
    if reader.next() == "-":
        reader.take()
        return Negative(_signed(reader))
    return _power(reader)


def _power(reader):
    tree = _atom(reader)
    while reader.next() == "^":
        tree = Pair(reader.take(), tree, _atom(reader))
    return tree


def _atom(reader):
    if reader.next() == "(":
        reader.take()
        tree = _sum(reader)
        if reader.next() != ")":
            reader.fail("no closing bracket")
        reader.take()
        return tree
    if not isinstance(reader.next(), int):
        reader.fail("no number")
    return reader.take()
