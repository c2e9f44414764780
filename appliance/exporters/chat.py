"""Conversations in the form of `importers/chat.py`: the task as the user's message, a right answer as the assistant's.

Of tasks the gold solutions are written, so such a file is as secret as they are; of a run the attempts that passed.
Canaries and tasks of the eval split are left out: what is trained on measures nothing any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.exporters.transcript import Transcript
from appliance.kinds import load_kind
from appliance.nouns import Task

NAME, SUMMARY = "OpenAI chat JSONL", "Conversations: golds of tasks, or the attempts that passed."
FILE = "chat.jsonl"


def write_tasks(tasks: Sequence[Task], out: Path) -> list[str]:
    """Write one conversation for each task of the split `train`."""
    kept = [task for task in tasks if task.split == "train"]
    _write(out, (_of_gold(task) for task in kept))
    return _remarks(len(kept), len(tasks) - len(kept), "tasks of another split than train left out")


def write_attempts(transcripts: Sequence[Transcript], out: Path) -> list[str]:
    """Write one conversation for each attempt that passed at a task of the split `train` that is at hand."""
    rows = [row for found in transcripts if (row := _of_attempt(found))]
    _write(out, iter(rows))
    left = len(transcripts) - len(rows)
    return _remarks(len(rows), left, "attempts left out: not passed, not of train, or their task not at hand")


def _of_gold(task: Task) -> dict[str, Any]:
    artefacts, _ = load_kind(task.kind).controls(task)["gold"]
    texts = {name: body.decode("utf-8", errors="replace") for name, body in artefacts.items()}
    return conversation(task, texts, {"task_hash": task.task_hash})


def _of_attempt(found: Transcript) -> dict[str, Any] | None:
    if found.verdict.status != "pass" or found.task is None or found.task.split != "train":
        return None
    origin = {"attempt": found.attempt.id, "policy_version": found.attempt.policy_version}
    return conversation(found.task, found.attempt.artefacts, origin)


def conversation(task: Task, artefacts: Mapping[str, str], origin: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an answer that is a set of files; a single one stands alone."""
    asked = f"{task.statement}\n\n{task.start}".rstrip() + "\n"
    if len(artefacts) == 1:
        (answer,) = artefacts.values()
    else:
        answer = "\n".join(f"### {name}\n{text}" for name, text in sorted(artefacts.items()))
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    return {"messages": messages, "appliance": {"task": task.key, **origin}}


def _write(out: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with (out / FILE).open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def _remarks(written: int, left: int, why: str) -> list[str]:
    return [f"{written} conversations", *([f"{left} {why}"] if left else [])]
