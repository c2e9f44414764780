"""File trees of `shell` tasks: written as JSON for examples, read from a session, and compared.

A tree maps a path, relative and exact to its last byte, to a file, a folder or a link. A comparison looks at all of it:
every path that is missing or too many, every byte of every file, every link's target, and permissions where the task
says so. What must stay as it was is part of the wanted tree, so that deleting it is as wrong as not doing the work.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from typing import Any

from appliance.errors import TaskError
from appliance.sandbox.client import Collection, Entry, Snapshot
from appliance.tables import Field, check_table

Tree = Mapping[str, Entry]
"""Path below the root, with undecodable bytes as surrogates, to what is there; the root itself is `ROOT`."""
ROOT = "."

MODES = ("ignore", "executable", "exact")
"""What of the permissions of files and folders is compared: nothing, whether the owner may execute, or every bit."""
FILE_MODE, FOLDER_MODE = 0o644, 0o755
MAX_NAME, MAX_DEPTH = 255, 60
MAX_TARGET = 4000

_ROW = {
    "path": Field(str),
    "text": Field(str, required=False),
    "base64": Field(str, required=False),
    "link": Field(str, required=False),
    "mode": Field(str, required=False),
}
_SPECIAL = ("fifo", "socket", "device")
"""Reasons for which a walk refuses what a snapshot has no word for."""


def read_tree(where: str, rows: object) -> dict[str, Entry]:
    """The tree that a list of objects describes; TaskError names the one that does not.

    An object with `text` or `base64` is a file, one with `link` a link, any other a folder. Folders on the way may be
    left out.
    """
    if type(rows) is not list:
        raise TaskError(f"{where}: not a list", remedy="write a list of objects with a path each")
    found: dict[str, Entry] = {ROOT: Entry(ROOT, "folder", FOLDER_MODE)}
    for number, row in enumerate(rows):
        entry = _read_entry(f"{where}: entry {number}", row)
        if entry.path in found:
            raise TaskError(f"{where}: the path {entry.path!r} is there twice", remedy="remove one")
        found[entry.path] = entry
    for path in list(found):
        _add_parents(where, found, path)
    return found


def _read_entry(where: str, row: object) -> Entry:
    if type(row) is not dict:
        raise TaskError(f"{where}: not an object", remedy="write one with a path")
    table: Mapping[str, Any] = row
    check_table(where, {name: item for name, item in table.items() if name != "text"}, _ROW, TaskError)
    path = table["path"]
    if not _is_plain(path):
        raise TaskError(
            f"{where}: the path {path!r} is not a plain relative one",
            remedy="write it without . and .., and not too long",
        )
    if len({"text", "base64", "link"} & table.keys()) > 1:
        raise TaskError(
            f"{where}: more than one of text, base64 and link", remedy="write one, or none for a folder"
        )
    texts = [table[name] for name in ("text", "link") if isinstance(table.get(name), str)]
    if not all(map(is_encodable, texts)) or len(table.get("link", "")) > MAX_TARGET:
        raise TaskError(
            f"{where}: a text that no file or link can hold", remedy="write base64, or a shorter link"
        )
    if "link" in table:
        return Entry(path, "link", 0o777, table["link"].encode("utf-8", "surrogateescape"))
    body = _body(where, table)
    mode = _mode(where, table, FOLDER_MODE if body is None else FILE_MODE)
    return Entry(path, "folder", mode) if body is None else Entry(path, "file", mode, body)


def _is_plain(path: str) -> bool:
    """Whether a session can begin with it, below one more folder."""
    parts = path.split("/")
    if {"", ROOT, ".."} & set(parts) or "\0" in path or len(parts) > MAX_DEPTH:
        return False
    return is_encodable(path) and all(len(os.fsencode(part)) <= MAX_NAME for part in parts)


def is_encodable(text: str) -> bool:
    """Whether a text of JSON stands for bytes: a lone surrogate may stand for none."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _body(where: str, row: Mapping[str, Any]) -> bytes | None:
    if "text" in row:
        if type(row["text"]) is not str:
            raise TaskError(f"{where}: field 'text' is not a string", remedy="write a string, or base64")
        return str(row["text"]).encode("utf-8", "surrogateescape")
    if "base64" not in row:
        return None
    try:
        return base64.b64decode(row["base64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise TaskError(f"{where}: field 'base64': {error}", remedy="write base64 of the contents") from None


def _mode(where: str, row: Mapping[str, Any], default: int) -> int:
    text = row.get("mode")
    if text is None:
        return default
    if not text.isdigit() or set(text) - set("01234567") or int(text, 8) > 0o777:
        raise TaskError(f"{where}: field 'mode': {text!r} is not a mode", remedy="write three octal digits")
    return int(text, 8)


def _add_parents(where: str, tree: dict[str, Entry], path: str) -> None:
    for parent in parents(path):
        if tree.setdefault(parent, Entry(parent, "folder", FOLDER_MODE)).kind != "folder":
            raise TaskError(
                f"{where}: {parent!r} is no folder, but {path!r} lies in it", remedy="rename one of them"
            )


def parents(path: str) -> list[str]:
    """The folders that a path lies in, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def below(snapshot: Snapshot, folder: str) -> dict[str, Entry] | None:
    """The tree in a top folder of a snapshot; None when that is no folder."""
    found: dict[str, Entry] = {}
    for entry in snapshot.entries:
        head, _, rest = entry.path.partition("/")
        if head == folder:
            path = rest or ROOT
            found[path] = Entry(path, entry.kind, entry.mode, entry.body)
    return found if ROOT in found and found[ROOT].kind == "folder" else None


def moved(tree: Tree, folder: str) -> list[Entry]:
    """The entries of a tree as they lie in a top folder of a session's beginning."""
    top = Entry(folder, "folder", tree[ROOT].mode if ROOT in tree else FOLDER_MODE)
    rest = [entry for path, entry in tree.items() if path != ROOT]
    return [top, *(Entry(f"{folder}/{entry.path}", entry.kind, entry.mode, entry.body) for entry in rest)]


def unreadable(snapshot: Snapshot, walked: Collection, folder: str) -> str:
    """What in a top folder cannot be compared, in our words; empty when everything can."""
    if snapshot.truncated or walked.truncated:
        return snapshot.truncated or walked.truncated
    inside = f"{folder}/".encode()
    for refused in snapshot.refused:
        if refused.name.startswith(inside) or refused.name == inside[:-1]:
            return f"{refused.shown}: {refused.reason}"
    for refused in walked.refused:
        if refused.name.startswith(inside) and refused.reason in _SPECIAL:
            return f"{refused.shown}: {refused.reason}"
    return ""


def first_difference(wanted: Tree, found: Tree, before: Tree, modes: str) -> tuple[str, str] | None:
    """One word and a path of the candidate's own for the first difference, by path; None when there is none.

    A path that it should have made is not told: that would be an expected value.
    """
    for path in sorted(wanted.keys() | found.keys()):
        expected, got = wanted.get(path), found.get(path)
        if got is None:
            return ("destroyed", path) if path in before else ("missing", "")
        if expected is None:
            return "extra", path
        if word := _difference(expected, got, modes):
            return word, path
    return None


def _difference(expected: Entry, got: Entry, modes: str) -> str:
    if expected.kind != got.kind:
        return "other_kind"
    if expected.body != got.body:
        return "other_target" if got.kind == "link" else "other_contents"
    if got.kind == "link" or modes == "ignore":
        return ""
    compared = stat.S_IXUSR if modes == "executable" else 0o7777
    return "other_mode" if (expected.mode ^ got.mode) & compared else ""


def same(one: Tree, other: Tree) -> bool:
    return first_difference(one, other, {}, "exact") is None


def split_arguments(body: bytes) -> list[str]:
    """The words of a file in which NULs separate them; one at the end ends the last."""
    words = body.removesuffix(b"\0").split(b"\0") if body else []
    return [word.decode("utf-8", "surrogateescape") for word in words]
