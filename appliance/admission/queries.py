"""What a script of SQL names: tables that it reads, columns of its result, things that it makes, texts that it holds.

Read with regular expressions over the script without comments: a gold is short, and what is missed here is a name that
is not asked for in the statement, never an accusation.
"""

from __future__ import annotations

import re

_FLAGS = re.IGNORECASE | re.DOTALL
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", _FLAGS)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_READ = re.compile(r"\b(?:from|join|into|update)\s+[\"`]?(\w+)", _FLAGS)
_COMMON = re.compile(
    r"(?:\bwith\s+(?:recursive\s+)?|,\s*)(\w+)\s*(?:\([\w\s,]*\)\s*)?as\s*(?:(?:not\s+)?materialized\s*)?\(",
    _FLAGS,
)
_TABLE = re.compile(r"\btable\s+(?:if\s+(?:not\s+)?exists\s+)?[\"`]?(\w+)", _FLAGS)
_RENAMED = re.compile(r"\brename\s+to\s+[\"`]?(\w+)", _FLAGS)
_MADE = re.compile(
    r"\b(?:create|add|rename)\s+(?:unique\s+)?(?:table|view|column|to)\s+(?:if\s+not\s+exists\s+)?[\"`]?(\w+)",
    _FLAGS,
)
_ALIAS = re.compile(r"\bas\s+[\"`]?(\w+)", _FLAGS)
_HEAD = re.compile(r"\bselect\b(.*?)(?:\bfrom\b|$)", _FLAGS)
_NO_TABLE = re.compile(r"set$|select$|values$|sqlite_|json_|pragma_", _FLAGS)


def plain(sql: str) -> str:
    """The script without comments and texts."""
    return _TEXT.sub(" ", _COMMENT.sub(" ", sql))


def texts(sql: str) -> list[str]:
    """The text literals."""
    return _TEXT.findall(_COMMENT.sub(" ", sql))


def tables_read(sql: str) -> set[str]:
    """Tables that are there before: not those that the script or a WITH clause makes. In lower case."""
    code = plain(sql)
    made = {name.lower() for form in (_COMMON, _TABLE, _RENAMED) for name in form.findall(code)}
    return {name.lower() for name in _READ.findall(code) if not _NO_TABLE.match(name)} - made


def things_made(sql: str) -> set[str]:
    """Tables, views and columns that the script creates or renames to."""
    return set(_MADE.findall(plain(sql)))


def columns_named(sql: str) -> set[str]:
    """What the outermost SELECT calls its columns with AS."""
    depth, outer = 0, []
    for sign in plain(sql):
        depth += (sign == "(") - (sign == ")")
        outer.append(sign if depth == 0 else " ")
    heads = _HEAD.findall("".join(outer))
    return set(_ALIAS.findall(heads[-1])) if heads else set()
