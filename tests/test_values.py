"""Canonical values: exact types, one normal form, strict parsing, hard caps."""

from __future__ import annotations

import collections
import math

import pytest

from appliance.values import (
    MAX_DEPTH,
    MAX_PARTS,
    ValueFault,
    compare,
    decode,
    dumps,
    encode,
    loads,
    normal,
)

PLAIN = [None, True, 0, -7, 10**40, 1.5, -0.0, "", "é\ud800", [], [1, [2]], {}, {"a": [1]}]
TAGGED = [
    (1, (2,)),
    (),
    {1, 2, 3},
    frozenset({"a", (1, "b")}),
    {1: "one", (2, 3): "pair"},
    {"$x": 1},
    b"\x00\xff",
    math.inf,
    -math.inf,
    {"deep": [{frozenset({1})}, ({2: b""},)]},
]


@pytest.mark.parametrize("value", PLAIN + TAGGED, ids=repr)
def test_a_value_survives_the_wire(value: object) -> None:
    back = decode(loads(dumps(encode(value))))
    assert back == value
    assert type(back) is type(value)
    assert encode(back) == normal(encode(value))


def test_nan_survives_and_equals_only_nan() -> None:
    tree = loads(dumps(encode(math.nan)))
    assert math.isnan(decode(tree))  # type: ignore[arg-type]
    assert compare(tree, encode(math.nan))
    assert not compare(tree, encode(0.0), 1e9)
    assert not compare(encode(0.0), tree, 1e9)


UNEQUAL = [
    (True, 1),
    (1, 1.0),
    (False, None),
    (0.0, -0.0),
    ("1", 1),
    ((1,), [1]),
    ({1}, frozenset({1})),
    ({1}, {True}),
    ({1: 2}, {True: 2}),
    ({"a": 1}, {"a": True}),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    (b"a", "a"),
    (1e300, 2e300),
    ({}, set()),
    ({}, []),
]


@pytest.mark.parametrize(("one", "other"), UNEQUAL, ids=repr)
def test_types_and_values_are_strict(one: object, other: object) -> None:
    assert not compare(encode(one), encode(other))
    assert not compare(encode(other), encode(one))


def test_what_has_no_order_compares_without_order() -> None:
    assert compare(encode({"a": 1, "b": 2}), encode({"b": 2, "a": 1}))
    assert compare(encode({1: "x", 2: "y"}), encode({2: "y", 1: "x"}))
    assert compare(normal({"$set": [3, 1, 2]}), encode({1, 2, 3}))
    assert compare(normal({"$dict": [["a", 1]]}), encode({"a": 1}))


def test_a_tolerance_reaches_floats_and_nothing_else() -> None:
    assert compare(encode([0.1 + 0.2, {"a": (1.0,)}]), encode([0.3, {"a": (1.0 + 1e-12,)}]), 1e-9)
    assert compare(encode(1e12), encode(1e12 + 1), 1e-9)
    assert not compare(encode(1.0), encode(1.1), 1e-9)
    assert not compare(encode(1.0), encode(1), 1e-9)
    assert not compare(encode({0.1 + 0.2}), encode({0.3}), 1e-9)
    assert not compare(encode({0.1 + 0.2: 1}), encode({0.3: 1}), 1e-9)
    assert not compare(encode(math.inf), encode(1e308), 1e-9)
    assert compare(encode({1: 0.1 + 0.2}), encode({1: 0.3}), 1e-9)


class Number(int):
    pass


class Word(str):
    __slots__ = ()


REFUSED = [
    Number(3),
    Word("a"),
    [Number(3)],
    {Word("a"): 1},
    collections.Counter("ab"),
    collections.OrderedDict(a=1),
    bytearray(b"a"),
    (item for item in (1, 2)),
    range(3),
    object(),
    int,
    1j,
    1 << 20_000,
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_only_the_exact_built_in_types_are_encoded(value: object) -> None:
    with pytest.raises(ValueFault):
        encode(value)


def test_caps_stop_deep_cyclic_and_large_values() -> None:
    cyclic: list[object] = []
    cyclic.append(cyclic)
    deep: object = 0
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    for value in (cyclic, deep, [0] * (MAX_PARTS + 1)):
        with pytest.raises(ValueFault):
            encode(value)
        if value is not cyclic:
            with pytest.raises(ValueFault):
                normal(value)


BAD_TREES = [
    {"$set": [1, 1]},
    {"$set": [[1]]},
    {"$set": [{"a": 1}]},
    {"$dict": [[[1], 2]]},
    {"$dict": [[1, 2], [1, 3]]},
    {"$dict": [[1, 2, 3]]},
    {"$dict": {"a": 1}},
    {"$set": 1},
    {"$float": "1.0"},
    {"$float": 1},
    {"$bytes": "F0"},
    {"$bytes": "abc"},
    {"$unknown": []},
    {"$set": [], "$tuple": []},
    {"$set": [], "a": 1},
    {1: 2},
    (1, 2),
    math.inf,
]


@pytest.mark.parametrize("tree", BAD_TREES, ids=repr)
def test_a_tree_that_is_no_value_is_refused(tree: object) -> None:
    with pytest.raises(ValueFault):
        normal(tree)


BAD_TEXTS = [
    b"",
    b"NaN",
    b"[Infinity]",
    b"1e999",
    b'{"a": 1, "a": 2}',
    b'"\xff"',
    b"[1] [2]",
    b"[" * 100_000,
    b"9" * 5000,
    b"__import__('os')",
]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=lambda text: repr(text[:12]))
def test_parsing_is_strict(text: bytes) -> None:
    with pytest.raises(ValueFault):
        loads(text)


def test_decoding_gives_a_new_value_every_time() -> None:
    tree = {"rows": [[1], [2]]}
    first = decode(tree)
    first["rows"].clear()  # type: ignore[index]
    assert decode(tree) == {"rows": [[1], [2]]}


def test_arguments_keep_the_order_their_author_wrote() -> None:
    tree = {"b": 1, "a": {"d": 2, "c": 3}}
    back = decode(loads(dumps(tree, keep_order=True)))
    assert repr(back) == repr(tree)
    assert dumps(tree) == b'{"a":{"c":3,"d":2},"b":1}'
