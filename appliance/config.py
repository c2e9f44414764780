"""TOML tables read into frozen dataclasses, strictly.

A setting is declared once, as a dataclass field: its type, its default and, in `setting(...)`, its bounds.
An unknown key, a wrong type or a value out of bounds is a `ConfigError` that names the file, the key and the
remedy. Every value remembers where it came from.
"""

from __future__ import annotations

import math
import re
import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from appliance.errors import ConfigError
from appliance.tables import nearest

T = TypeVar("T")


def setting(
    default: Any = MISSING,
    *,
    help: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    form: str = "",
) -> Any:
    """Declare one setting: default, inclusive bounds, allowed words, the regular expression of its form, help."""
    metadata = {"help": help, "low": low, "high": high, "choices": choices, "form": form}
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Origins:
    """Dotted key to where its value came from: `file`, `flag` or `default`."""

    of: Mapping[str, str]


def load_toml(path: Path) -> dict[str, Any]:
    """Parse one TOML file; ConfigError with the place when it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file", remedy="check the path of the recipe") from None
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}", remedy="give a recipe file that can be read"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file", remedy="a recipe is a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", remedy="mend the named line") from None


def read_table(cls: type[T], data: Mapping[str, Any], source: str, prefix: str = "") -> T:
    """Build `cls` from `data`, which came from `source` (a file name for messages)."""
    assert is_dataclass(cls)
    known = {item.name: item for item in fields(cls)}
    for key in data:
        if key not in known:
            raise ConfigError(f"{source}: unknown key {prefix + key!r}", remedy=nearest(key, known))
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for name, item in known.items():
        key = prefix + name
        if is_dataclass(hints[name]):
            values[name] = _read_subtable(hints[name], data.get(name, {}), source, key)
        elif name in data:
            values[name] = _checked(data[name], hints[name], item.metadata, source, key)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ConfigError(
                f"{source}: {key!r} is missing", remedy=f"add {key} = … ({item.metadata.get('help', '')})"
            )
    return cls(**values)


def _read_subtable(cls: Any, data: Any, source: str, key: str) -> Any:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{source}: {key!r} must be a table", remedy=f"write [{key}] and its keys below")
    return read_table(cls, data, source, f"{key}.")


def _checked(value: Any, hint: Any, rules: Mapping[str, Any], source: str, key: str) -> Any:
    value = _typed(value, hint, source, key)
    low, high, choices = rules.get("low"), rules.get("high"), rules.get("choices")
    if choices and value not in choices:
        raise ConfigError(f"{source}: {key!r} is {value!r}", remedy=f"use one of {', '.join(choices)}")
    if (form := rules.get("form")) and not re.fullmatch(form, value):
        raise ConfigError(f"{source}: {key!r} is {value!r}", remedy=f"write {rules['help']}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{source}: {key!r} is {value!r}", remedy="write a finite number")
    if low is not None and value < low:
        raise ConfigError(f"{source}: {key!r} is {value!r}", remedy=f"use {low} or more")
    if high is not None and value > high:
        raise ConfigError(f"{source}: {key!r} is {value!r}", remedy=f"use {high} or less")
    return value


def _typed(value: Any, hint: Any, source: str, key: str) -> Any:
    origin = get_origin(hint)
    if origin is tuple:
        if isinstance(value, list) and value:
            return tuple(_typed(item, get_args(hint)[0], source, key) for item in value)
    elif origin in (Union, types.UnionType):
        return _typed(value, next(arm for arm in get_args(hint) if arm is not type(None)), source, key)
    elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    elif type(value) is hint:
        return value
    wanted = (
        "a list of one or more values"
        if origin is tuple
        else f"a value of type {getattr(hint, '__name__', hint)}"
    )
    raise ConfigError(f"{source}: {key!r} is {value!r}", remedy=f"write {wanted}")


def origins(
    cls: Any, data: Mapping[str, Any], flags: frozenset[str] = frozenset(), prefix: str = ""
) -> Origins:
    """Say for every dotted key of `cls` whether `data`, a typed flag or the default gave its value."""
    found: dict[str, str] = {}
    hints = get_type_hints(cls)
    for item in fields(cls):
        key = prefix + item.name
        if is_dataclass(hints[item.name]):
            found |= origins(hints[item.name], data.get(item.name, {}), flags, f"{key}.").of
        else:
            found[key] = "flag" if key in flags else "file" if item.name in data else "default"
    return Origins(found)
