"""The value of an expression."""

from calc.errors import CalcError
from calc.parser import parse
from calc.tree import Negative, Pair


def _power(left, right):
    if right < 0 or right > 1000:
        raise CalcError("a power must be from 0 to 1000")
    return left**right


def _divide(left, right):
    if right == 0:
        raise CalcError("division by nothing")
    return left // right


def _rest(left, right):
    return left - right * _divide(left, right)


_OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "%": _rest,
    "^": _power,
}


def evaluate(text):
    """The value of an expression, an int. Division rounds down."""
    return _value(parse(text))


def _value(tree):
    if isinstance(tree, Pair):
        return _OPERATIONS[tree.sign](_value(tree.left), _value(tree.right))
    if isinstance(tree, Negative):
        return -_value(tree.of)
    return tree
