"""Conversations for supervised training, in the form that OpenAI's fine-tuning reads: one `{"messages": [..]}` a line.

A message is `{role, content, name?, tool_calls?, tool_call_id?, weight?}`; `tool_calls` are
`{id, type: "function", function: {name, arguments}}`, whose `arguments` are a JSON text. Fields that are not known
here are kept. A conversation without an answer of the assistant teaches nothing and is blocked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from appliance.importers.row import Imported, Options, Row
from appliance.importers.source import read

NAME, SUMMARY = "OpenAI chat JSONL", "Conversations for supervised training; written as chat.jsonl."
ROLES = ("system", "developer", "user", "assistant", "tool")


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """An example for each conversation of a file, as it stands there."""
    for row in read(source):
        messages = row.listed("messages")
        calls: set[str] = set()
        for index, message in enumerate(messages):
            _check(row, f"messages[{index}]", message, calls)
        id = f"row {row.number}"
        if any(message["role"] == "assistant" and message.get("weight") != 0 for message in messages):
            yield Imported(row.number, id, example=row.data)
        else:
            yield Imported(row.number, id, blocked="no message of the assistant to learn from")


def _check(row: Row, where: str, message: Any, calls: set[str]) -> None:
    if type(message) is not dict:
        raise row.fault(where, "is not an object", "write messages as objects")
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise row.fault(f"{where}.role", f"{role!r} is no role", f"write one of {', '.join(ROLES)}")
    made = message.get("tool_calls")
    if made is not None:
        _check_calls(row, f"{where}.tool_calls", role, made, calls)
    if type(content) is not str and not _is_parts(content) and not (content is None and made):
        raise row.fault(f"{where}.content", "is no text", "write a string or a list of text parts")
    if role == "tool" and message.get("tool_call_id") not in calls:
        raise row.fault(f"{where}.tool_call_id", "names no call made before", "give the id of the call")
    if message.get("weight", 1) not in (0, 1) or ("weight" in message and role != "assistant"):
        raise row.fault(f"{where}.weight", "is not 0 or 1 of an assistant", "write 0 or 1, or leave it out")


def _is_parts(content: Any) -> bool:
    return type(content) is list and all(
        type(part) is dict and part.get("type") == "text" and type(part.get("text")) is str
        for part in content
    )


def _check_calls(row: Row, where: str, role: str, made: Any, calls: set[str]) -> None:
    if role != "assistant" or type(made) is not list:
        raise row.fault(where, "is no list of an assistant", "only an assistant calls, in a list")
    for call in made:
        if not _is_call(call):
            raise row.fault(
                where,
                "holds no call",
                'write {"id", "type": "function", "function": {"name", "arguments"}}, arguments as a JSON text',
            )
        calls.add(call["id"])


def _is_call(call: Any) -> bool:
    function = call.get("function") if type(call) is dict else None
    if not isinstance(function, Mapping) or type(call.get("id")) is not str:
        return False
    name, arguments = function.get("name"), function.get("arguments")
    try:
        return type(name) is str and type(arguments) is str and type(json.loads(arguments)) is dict
    except (ValueError, RecursionError):
        return False
