"""Writes an expression with all its brackets."""

from calc.parser import parse
from calc.tree import Negative, Pair


def show(text):
    """The same expression in which every operation has its own brackets."""
    return _text(parse(text))


def _text(tree):
    if isinstance(tree, Pair):
        return f"({_text(tree.left)} {tree.sign} {_text(tree.right)})"
    if isinstance(tree, Negative):
        return f"(-{_text(tree.of)})"
    return str(tree)
