"""V7: what the hidden tests require by name stands in the statement, the start or the examples.

What an answer must hold and no input gives has to be said: the name that is called, the class of an exception, words
and numbers of the answers, tables and columns, the paths of files. The finders of each kind are narrow on purpose: an
answer that is made of its input (reversed, joined, shifted) is nobody's omission.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from appliance.admission import queries
from appliance.admission.check import Check
from appliance.admission.fingerprints import is_gold
from appliance.admission.suites import required_names
from appliance.admission.texts import part, words
from appliance.kinds.function_cases import material
from appliance.nouns import Task

NAME = "statement suffices"
RECURS = 3
"""Answers that must hold a number before it counts as one that the tests require."""
PLAIN_NUMBER = 10
"""Smaller whole numbers are counts and places."""
REORDERED = 3
"""Letters of an input for each letter of an answer that may be they in another order: a long text holds any word."""
_LISTED = 20
_WORD = re.compile(r"[^\W\d_]{3,}")
_PATH = re.compile(r"[\w-]+(?:/[\w.-]+)+|\b[\w-]+\.[a-z]{2,5}\b")
_WRITTEN = re.compile(r">>?\s*[\"']?([\w./-]*[\w-]\.[a-z]{2,5})\b")
_ORDER = re.compile(
    r"order|sort|ascend|descend|first|last|alphabet|newest|oldest|largest|smallest", re.IGNORECASE
)


def check(task: Task) -> Check:
    """Names, exceptions, words, numbers and paths that hidden tests require and nothing visible mentions."""
    missing = list(dict.fromkeys(_FINDERS[task.kind](task)))
    measured = {"missing": missing[:_LISTED], "count": len(missing)}
    if not missing:
        return Check("V7", NAME, "passed", measured)
    reason = f"the statement does not say: {', '.join(missing[:5])}"
    return Check("V7", NAME, "failed", measured, reason, "say it in instruction.md, or do not ask for it")


def shown(task: Task) -> str:
    """All that a candidate may read, the names of its files included."""
    visible = part(task, "instruction.md", "environment/", "public/")
    return "\n".join((*visible, *visible.values()))


def said(word: str, text: str) -> bool:
    """Whether a name or a word stands in a text, as a whole or as a part of a longer one."""
    return word.lower() in text.lower()


# function


def _function(task: Task) -> Iterator[str]:
    text, held = shown(task), material(task)
    if not re.search(rf"\b{re.escape(task.entry_point)}\b", text):
        yield f"the name {task.entry_point}"
    raised = {case.raises for case in held.hidden if case.raises}
    yield from (f"the exception {name}" for name in sorted(raised) if not _names_exception(name, text))
    answered = [case for case in held.hidden if not case.raises]
    asked = [json.dumps([case.args, case.kwargs], ensure_ascii=False) for case in answered]
    answers = [list(_leaves(case.expected)) for case in answered]
    yield from _unsaid([" ".join(map(str, answer)) for answer in answers], asked, text)
    yield from _unsaid_numbers(answers, asked, text)


def _names_exception(name: str, text: str) -> bool:
    """Whether the class is named, or said as words; "raises" alone is enough where no other class is named."""
    spelt = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    if name in ("Exception", "BaseException") or said(name, text) or said(spelt, text):
        return True
    return bool(re.search(r"\brais", text, re.IGNORECASE)) and not re.search(
        r"\b[A-Z]\w*(?:Error|Exception)\b", text
    )


def _leaves(tree: Any) -> Iterator[Any]:
    """The texts and numbers of a value; keys of dictionaries that it holds are texts too."""
    if isinstance(tree, list):
        for item in tree:
            yield from _leaves(item)
    elif isinstance(tree, dict):
        for key, item in tree.items():
            if key not in ("$float", "$bytes"):
                yield from [] if key.startswith("$") else [key]
                yield from _leaves(item)
    elif tree is not None and not isinstance(tree, bool):
        yield tree


def _unsaid(answers: Sequence[str], asked: Sequence[str], text: str) -> Iterator[str]:
    """Words of the answers that neither their inputs nor what is shown gives.

    Where a quarter of the answers have such words they are made by a rule (a cipher, a spelling) that the statement
    has to state in its own way: then only a word that recurs is missed.
    """
    found: Counter[str] = Counter()
    lacking = 0
    for answer, given in zip(answers, asked, strict=True):
        unsaid = {word for word in _WORD.findall(answer) if not said(word, text) and not made_of(word, given)}
        found.update(unsaid)
        lacking += bool(unsaid)
    least = RECURS if lacking > max(2, len(answers) / 4) else 1
    yield from (f"the word {word!r}" for word, times in sorted(found.items()) if times >= least)


def made_of(word: str, given: str) -> bool:
    """Whether a word can be made of a text: its letters, reordered or not, words and pieces of it, or one letter."""
    low, text = word.lower(), given.lower()
    letters = Counter(filter(str.isalpha, text))
    if len(set(low)) == 1 or low in "".join(piece[0] for piece in words(given)):
        return True
    if letters.total() <= REORDERED * len(low) and not Counter(low) - letters:
        return True
    if any(_is_thinned(low, piece) for piece in words(given)):
        return True
    # A piece repeated, or pieces joined: the shortest that says that it comes from there has three letters.
    own = {piece for piece in re.findall(r"[^\W\d_]+", text) if piece in low}
    own |= {low[start : start + 3] for start in range(len(low) - 2) if low[start : start + 3] in text}
    ends = {0}
    for end in range(1, len(low) + 1):
        if any(low[start:end] in own or (end - start > 3 and low[start:end] in text) for start in ends):
            ends.add(end)
    return len(low) in ends


def _is_thinned(word: str, piece: str) -> bool:
    """Whether the letters of a word follow each other in a longer one, which some were taken out of."""
    left = iter(piece)
    return all(letter in left for letter in word)


def _unsaid_numbers(answers: Sequence[Sequence[Any]], asked: Sequence[str], text: str) -> Iterator[str]:
    """A number that is the whole answer again and again, to inputs that do not hold it, is a constant of the task."""
    single = [answer[0] for answer in answers if len(answer) == 1]
    if len(single) < len(answers) or len(set(map(str, single))) > len(answers) / RECURS:
        return
    inputs: dict[float, set[str]] = defaultdict(set)
    for number, given in zip(single, asked, strict=True):
        if isinstance(number, int | float) and abs(number) >= PLAIN_NUMBER and not _number_in(number, given):
            inputs[number].add(given)
    for number, given_sets in sorted(inputs.items()):
        if len(given_sets) >= RECURS and not _number_in(number, text):
            yield f"the number {number}"


def _number_in(number: float, text: str) -> bool:
    return bool(re.search(rf"(?<![\d.]){re.escape(str(number).removesuffix('.0'))}(?:\.0)?(?![\d])", text))


# stdio


def _stdio(task: Task) -> Iterator[str]:
    hidden = part(task, "tests/")
    asked = {name.removesuffix(".in"): text for name, text in hidden.items() if name.endswith(".in")}
    pairs = [(hidden.get(f"{name}.out", ""), given) for name, given in sorted(asked.items())]
    yield from _unsaid([answer for answer, _ in pairs], [given for _, given in pairs], shown(task))


# sql


def _sql(task: Task) -> Iterator[str]:
    """Tables, columns and texts of the gold, and whether an order that counts is asked for."""
    text, settings = shown(task), task.settings
    gold = "\n".join(body for name, body in part(task, "solution/").items() if is_gold(name))
    yield from (f"the table {name}" for name in sorted(queries.tables_read(gold)) if not said(name, text))
    asked = queries.things_made(gold) if settings["mode"] == "migration" else set()
    if settings.get("names"):
        asked |= queries.columns_named(gold)
    kept = ("tmp", "temp", "new_", "old_")
    yield from (
        f"the name {name}"
        for name in sorted(asked)
        if not said(name, text) and not name.lower().startswith(kept)
    )
    for literal in queries.texts(gold):
        if _WORD.fullmatch(literal) and not said(literal, text):
            yield f"the text {literal!r}"
    if settings.get("ordered") and not _ORDER.search(text):
        yield "the order of the rows"


# config and shell


def _config(task: Task) -> Iterator[str]:
    """The files that are handed in, and the paths of answers that neither their question nor the statement holds."""
    text = shown(task)
    yield from (f"the file {name}" for name in task.settings["files"] if not said(name, text))
    for row in _rows(task, "tests/probes.json"):
        given = json.dumps(row["ask"], ensure_ascii=False) + text
        told = " ".join(leaf for leaf in _leaves(row["expected"]) if isinstance(leaf, str))
        yield from (f"the path {path}" for path in _PATH.findall(told) if not _path_said(path, given))


def _shell(task: Task) -> Iterator[str]:
    """Paths that the wanted tree has and the fixture has not, and names of files that the gold redirects to."""
    text = shown(task)
    for row in _rows(task, "tests/cases.json"):
        asked = [row.get(name) for name in ("fixture", "arguments", "stdin")]
        given = json.dumps(asked, ensure_ascii=False) + text
        yield from (
            f"the path {entry['path']}" for entry in row["expected"] if not _path_said(entry["path"], given)
        )
    for script in part(task, "solution/solution.sh").values():
        for target in _WRITTEN.findall(script):
            name = target.rpartition("/")[2]
            if "tmp" not in target and not said(name, text):
                yield f"the file {name}"


def _rows(task: Task, name: str) -> Iterator[Mapping[str, Any]]:
    for body in part(task, name).values():
        yield from json.loads(body)


def _path_said(path: str, text: str) -> bool:
    """Whether each part of a path is given: its name, its ending; numbers may be counted."""
    return all(said(piece, text) for piece in re.findall(r"[^\W\d_]{2,}", path))


# repo


def _repo(task: Task) -> Iterator[str]:
    visible = part(task, "instruction.md", "environment/", "public/")
    known = set(words("\n".join((*visible, *visible.values()))))
    suite = part(task, "tests/suite/")
    own = {name.removesuffix(".py").rpartition("/")[2] for name in suite}
    for what, name in required_names(suite, part(task, "tests/probe.json")):
        if name.lower() not in known and name not in own:
            yield f"the {what} {name}"


_FINDERS: Mapping[str, Callable[[Task], Iterator[str]]] = {
    "config": _config,
    "function": _function,
    "repo": _repo,
    "shell": _shell,
    "sql": _sql,
    "stdio": _stdio,
}
