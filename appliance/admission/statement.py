"""V7: what hidden tests require by name stands in the statement, the start or the examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from appliance.admission.check import Check
from appliance.admission.texts import part
from appliance.kinds.function_cases import Case, material
from appliance.nouns import Task

_WORD = re.compile(r"[A-Za-z]{3,}")
"""What must be said; shorter words come out of the input as a rule."""


def check(task: Task) -> Check:
    """Names, exceptions and words of the hidden cases that nothing visible mentions."""
    finder = _FINDERS.get(task.kind)
    if finder is None:
        return Check("V7", "statement suffices", "not_applicable")
    missing = sorted(set(finder(task)))[:20]
    if not missing:
        return Check("V7", "statement suffices", "passed", {"missing": []})
    return Check(
        "V7",
        "statement suffices",
        "failed",
        {"missing": missing},
        f"the statement does not say: {', '.join(missing[:5])}",
        "say it in instruction.md, or do not ask for it",
    )


def _shown(task: Task) -> str:
    return "\n".join(part(task, "instruction.md", "environment/", "public/").values())


def _function(task: Task) -> Iterator[str]:
    shown = _shown(task)
    if task.entry_point not in shown:
        yield task.entry_point
    for case in material(task).hidden:
        yield from _unsaid(case, shown)


def _unsaid(case: Case, shown: str) -> Iterator[str]:
    if case.raises and not re.search(rf"\b({case.raises}|rais|error|exception)", shown, re.IGNORECASE):
        yield case.raises
    given = json.dumps([case.args, case.kwargs], ensure_ascii=False).lower()
    for text in _texts(case.expected):
        for word in _WORD.findall(text):
            if word.lower() not in given and word.lower() not in shown.lower() and not _made_of(word, given):
                yield word


def _made_of(word: str, given: str) -> bool:
    """Whether the letters can come from the input: reversed, joined, reordered or shifted words are not said."""
    return set(word.lower()) <= set(given)


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for item in tree:
            yield from _texts(item)
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from ([] if key.startswith("$") else [key])
            yield from _texts(item)


_FINDERS = {"function": _function}
