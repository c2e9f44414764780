"""Canonical typed values: what a case passes in, expects, and gets back, as JSON with tags.

A *tree* is plain JSON: null, booleans, integers, finite floats, strings, lists, and objects with string keys.
Other types are one-key objects: {"$tuple": [..]}, {"$set": [..]}, {"$frozenset": [..]}, {"$dict": [[k, v], ..]},
{"$bytes": "hex"}, {"$float": "nan" | "inf" | "-inf"}. The *normal* form sorts what has no order, so that two
trees are the same value exactly when they are the same text.

Only the exact built-in types are encoded: a subclass, a proxy or a generator is refused, so no operator that a
candidate wrote ever takes part in a comparison. True is not 1, 1 is not 1.0, 0.0 is not -0.0, NaN equals NaN.
Integers over about 4,200 digits, nesting over 64 and more than 100,000 parts are refused.

This file imports nothing of ours: it is also sent into the jail, beside the worker.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 64
MAX_PARTS = 100_000
MAX_INT_BITS = 14_000

Tree = Any
"""JSON as `json.loads` gives it; checked by `normal`."""

_SEQUENCES = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_UNORDERED = ("$set", "$frozenset")
_EXACT = ("$set", "$frozenset", "$bytes", "$float")


class ValueFault(ValueError):
    """The value or tree is outside the canonical types or over a cap."""


class _Meter:
    """Counts the parts of one value, so that a small text cannot ask for unbounded work."""

    def __init__(self) -> None:
        self.parts = 0

    def enter(self, depth: int) -> None:
        self.parts += 1
        if depth > MAX_DEPTH:
            raise ValueFault(f"nested deeper than {MAX_DEPTH}")
        if self.parts > MAX_PARTS:
            raise ValueFault(f"more than {MAX_PARTS} parts")


def dumps(tree: Tree, *, keep_order: bool = False) -> bytes:
    """The text of a tree: ASCII, no blanks, keys sorted unless their order is to be kept."""
    return json.dumps(tree, separators=(",", ":"), sort_keys=not keep_order, allow_nan=False).encode("ascii")


def loads(body: bytes) -> Tree:
    """Parse JSON strictly: UTF-8, no duplicate keys, no NaN or Infinity, no float that overflows."""
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueFault("nested too deep") from None
    except ValueFault:
        raise
    except ValueError as error:
        raise ValueFault(f"not JSON: {error}") from None


def _object(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueFault("an object has the same key twice")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueFault(f'{name} is not JSON; write {{"$float": ..}}')


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueFault(f"the number {text[:40]} is out of range")
    return value


def encode(value: Any) -> Tree:
    """The normal tree of `value`, by exact type; ValueFault for anything else."""
    return _encode(value, _Meter(), 0)


def _encode(value: Any, meter: _Meter, depth: int) -> Tree:
    meter.enter(depth)
    kind, inner = type(value), depth + 1
    if kind is float:
        return _encode_float(value)
    if value is None or kind in (bool, int, str):
        return _scalar(value)
    if kind is bytes:
        return {"$bytes": value.hex()}
    if kind is dict:
        return _mapping(
            [(_encode(key, meter, inner), _encode(item, meter, inner)) for key, item in value.items()]
        )
    if kind is list:
        return [_encode(item, meter, inner) for item in value]
    for tag, sequence in _SEQUENCES.items():
        if kind is sequence:
            return _tagged(tag, [_encode(item, meter, inner) for item in value])
    raise ValueFault(f"a value of type {kind.__name__}")


def _encode_float(value: float) -> Tree:
    if math.isfinite(value):
        return value
    return {"$float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def _scalar(value: object) -> Tree:
    if type(value) is int and value.bit_length() > MAX_INT_BITS:
        raise ValueFault(f"an integer of more than {MAX_INT_BITS} bits")
    if type(value) is float and not math.isfinite(value):
        raise ValueFault("a float that is not finite outside {$float}")
    return value


def _tagged(tag: str, items: list[Tree]) -> Tree:
    return {tag: sorted(items, key=dumps) if tag in _UNORDERED else items}


def _mapping(pairs: list[tuple[Tree, Tree]]) -> Tree:
    if all(type(key) is str and not key.startswith("$") for key, _ in pairs):
        return dict(sorted(pairs))
    return {"$dict": sorted(([key, item] for key, item in pairs), key=dumps)}


def normal(tree: Tree) -> Tree:
    """Check a tree and bring it into normal form; ValueFault when it is not a canonical value."""
    return _normal(tree, _Meter(), 0)


def _normal(tree: Tree, meter: _Meter, depth: int) -> Tree:
    meter.enter(depth)
    if type(tree) is list:
        return [_normal(item, meter, depth + 1) for item in tree]
    if type(tree) is not dict:
        if tree is None or type(tree) in (bool, int, float, str):
            return _scalar(tree)
        raise ValueFault(f"a {type(tree).__name__} is not JSON")
    if not any(type(key) is str and key.startswith("$") for key in tree):
        return _mapping([(_key(key), _normal(item, meter, depth + 1)) for key, item in tree.items()])
    if len(tree) != 1:
        raise ValueFault("an object with a key that starts with $ has exactly one key")
    return _normal_tagged(*next(iter(tree.items())), meter, depth)


def _key(key: object) -> str:
    if type(key) is not str:
        raise ValueFault("an object key is not a string")
    return key


def _normal_tagged(tag: str, body: Tree, meter: _Meter, depth: int) -> Tree:
    if tag == "$float":
        return _checked(tag, body, type(body) is str and body in _FLOATS)
    if tag == "$bytes":
        return _checked(tag, body, type(body) is str and _is_hex(body))
    if tag == "$dict" and type(body) is list:
        return _normal_dict(body, meter, depth)
    if tag not in _SEQUENCES or type(body) is not list:
        raise ValueFault(f"{tag[:20]!r} is not a known tag, or its content has the wrong shape")
    items = [_normal(item, meter, depth + 1) for item in body]
    if tag in _UNORDERED:
        _unique(items)
    return _tagged(tag, items)


def _checked(tag: str, body: Tree, good: bool) -> Tree:
    if not good:
        raise ValueFault(f"{tag} holds something it cannot hold")
    return {tag: body}


def _is_hex(text: str) -> bool:
    return len(text) % 2 == 0 and set(text) <= set("0123456789abcdef")


def _normal_dict(body: list[Tree], meter: _Meter, depth: int) -> Tree:
    if not all(type(pair) is list and len(pair) == 2 for pair in body):
        raise ValueFault("$dict holds pairs [key, value]")
    pairs = [(_normal(key, meter, depth + 1), _normal(item, meter, depth + 1)) for key, item in body]
    _unique([key for key, _ in pairs])
    return _mapping(pairs)


def _unique(items: list[Tree]) -> None:
    if not all(_hashable(item) for item in items):
        raise ValueFault("a member of a set or a key of a dict is not hashable")
    if len({dumps(item) for item in items}) != len(items):
        raise ValueFault("a set or a dict holds the same member twice")


def _hashable(tree: Tree) -> bool:
    if type(tree) is list:
        return False
    if type(tree) is not dict:
        return True
    tag, body = _only(tree)
    if tag == "$tuple":
        return all(_hashable(item) for item in body)
    return tag in ("$frozenset", "$bytes", "$float")


def _only(tree: dict[str, Tree]) -> tuple[str, Tree]:
    """The first key of an object and what it holds: the tag, when there is one."""
    return next(iter(tree.items()), ("", None))


def decode(tree: Tree) -> object:
    """The value of a tree, new at every call; the order of lists and objects is kept as written."""
    normal(tree)
    return _decode(tree)


def _decode(tree: Tree) -> object:
    if type(tree) is list:
        return [_decode(item) for item in tree]
    if type(tree) is not dict:
        return tree
    tag, body = _only(tree)
    if not tag.startswith("$"):
        return {key: _decode(item) for key, item in tree.items()}
    if tag == "$float":
        return _FLOATS[body]
    if tag == "$bytes":
        return bytes.fromhex(body)
    if tag == "$dict":
        return {_decode(key): _decode(item) for key, item in body}
    return _SEQUENCES[tag](_decode(item) for item in body)


def compare(expected: Tree, answer: Tree, tolerance: float | None = None) -> bool:
    """Whether two trees in normal form are the same value.

    With a tolerance, floats may differ by it: absolutely up to 1, relative to the expected value above.
    Members of sets and keys of dicts are always exact.
    """
    if type(expected) is not type(answer):
        return False
    if type(expected) is float:
        return _same_float(expected, answer, tolerance)
    if type(expected) is list:
        return _same_items(expected, answer, tolerance)
    if type(expected) is not dict:
        return bool(expected == answer)
    if expected.keys() != answer.keys():
        return False
    tag = next(iter(expected), "")
    if tag in _EXACT:
        return dumps(expected) == dumps(answer)
    if tag == "$dict":
        return _same_pairs(expected[tag], answer[tag], tolerance)
    return all(compare(item, answer[key], tolerance) for key, item in expected.items())


def _same_float(expected: float, answer: float, tolerance: float | None) -> bool:
    if tolerance is None:
        return expected == answer and math.copysign(1.0, expected) == math.copysign(1.0, answer)
    return abs(expected - answer) <= tolerance * max(1.0, abs(expected))


def _same_items(expected: list[Tree], answer: list[Tree], tolerance: float | None) -> bool:
    return len(expected) == len(answer) and all(
        compare(one, other, tolerance) for one, other in zip(expected, answer, strict=True)
    )


def _same_pairs(expected: list[Tree], answer: list[Tree], tolerance: float | None) -> bool:
    return len(expected) == len(answer) and all(
        dumps(one[0]) == dumps(other[0]) and compare(one[1], other[1], tolerance)
        for one, other in zip(expected, answer, strict=True)
    )
