"""Packets between the jailer and its clients: one JSON object each, read strictly.

Exactly the known keys, exactly the known types. Text may hold bytes that are not UTF-8, as Python's file names do;
they travel as they are. A reader's complaint is a ValueError (or RecursionError); whoever calls makes it an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

VERSION = 2
MESSAGE_BYTES = 192 * 1024
NUMBER = (int, float)
TEXT_CHARS = 8 * 1024

Kinds = Mapping[str, tuple[type, ...]]


def kinds_of(default: object) -> tuple[type, ...]:
    """What a setting with this default may be."""
    return NUMBER if type(default) is float else (type(default),)


def check_shape(record: dict[str, Any], kinds: Kinds) -> None:
    """Refuse anything but an object of exactly these keys and exact types: True is no number here."""
    if record.keys() != kinds.keys():
        raise ValueError(f"not an object with just {', '.join(kinds)}")
    for name, allowed in kinds.items():
        if type(record[name]) not in allowed:
            raise ValueError(f"{name} is a {type(record[name]).__name__}")


def kept(record: dict[str, Any], name: str, kind: type) -> Any:
    value = record.get(name)
    if type(value) is not kind:
        raise ValueError(f"{name} is missing or of a wrong type")
    return value


def row(value: object, *kinds: type) -> list[Any]:
    """A list with exactly these types in it."""
    if type(value) is not list or [type(part) for part in value] != list(kinds):
        raise ValueError("an entry of a wrong shape")
    return value


def rows(value: object) -> list[Any]:
    if type(value) is not list:
        raise ValueError("the index is not a list")
    return value


def text(value: object) -> str:
    """Text that has bytes: JSON can spell halves of characters, which have none."""
    if type(value) is not str:
        raise ValueError(f"a {type(value).__name__} where text belongs")
    value.encode("utf-8", "surrogateescape")
    return value


def cut(words: str) -> str:
    """For a person, so a packet is sure to hold it."""
    return words[:TEXT_CHARS].encode("utf-8", "backslashreplace").decode()


def length(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a length that is no number, or out of bounds")
    return value


def dumped(record: Mapping[str, Any]) -> bytes:
    """The packet of an object; UnicodeEncodeError for halves of characters."""
    return to_json({"v": VERSION, **record})


def to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def loaded(body: bytes) -> dict[str, Any]:
    """The object in a packet, without its version; ValueError when it is none of this version."""
    if len(body) > MESSAGE_BYTES:
        raise ValueError("the message is too long")
    record = parsed(body)
    if type(record) is not dict:
        raise ValueError("not an object")
    version = record.pop("v", None)
    if type(version) is not int or version != VERSION:
        raise ValueError(f"version {str(version)[:20]!r}; this side speaks {VERSION}")
    return record


def parsed(body: bytes) -> Any:
    return json.loads(
        body.decode("utf-8", "surrogateescape"), object_pairs_hook=_unique, parse_constant=_no_constant
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key given twice, two readers could believe two values."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is given twice")
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
