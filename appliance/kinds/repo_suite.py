"""The judge's half of a suite: which form of which test is asked when, and what the answers say together.

The secret is the pattern of what must pass. Names, order and forms are drawn from the seed of the judging and from the
hidden files, which no candidate has read. An answer is the word of a process that the candidate shares: it is only
ever compared with the pattern. Forms that contradict each other and both pass are a suspicion; `Suspicion` says what
would prove it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from appliance.dialogue import Broken, Dialogue
from appliance.examination import Outcome
from appliance.kinds.repo_tree import Listed, Material
from appliance.kinds.repo_twins import CONTRADICTIONS, NAME, PASSES, PROOFS, Form, Group

PASSED = "passed"
WORDS = frozenset({PASSED, "failed", "error", "skipped", "missing", "load_error", "malformed"})
PROVED = 2
"""Suspicious tests that are asked again; one is enough."""
REPEATS = 6
"""How often each question is then asked: a program that is right half the time passes two opposite forms that often
once in four thousand times, and one that forges always does."""

Words = Mapping[Form, str]


@dataclass(frozen=True, slots=True)
class Question:
    """One form of one test, to be run."""

    test: Listed
    text: str
    form: Form = "true"
    group: int | None = None
    """Position in FAIL_TO_PASS."""


@dataclass(slots=True)
class Answers:
    """What came back: the word and a description that names no expected value."""

    fixed: dict[int, dict[Form, str]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the id of a hidden test that passed before."""

    def note(self, question: Question, word: str, text: str) -> None:
        if question.group is None:
            self.kept[question.test.id] = word, text
            return
        self.fixed.setdefault(question.group, {})[question.form] = word
        if question.form == "true":
            self.texts[question.group] = text


def draw_for(seed: int, hidden_hash: str, purpose: str) -> random.Random:
    """Randomness of one judging that nobody can repeat who has not read the hidden files."""
    return random.Random(hashlib.sha256(f"{seed}:{hidden_hash}:{purpose}".encode()).digest())


def plan(material: Material, draw: random.Random) -> list[Question]:
    """All of a suite in one order: each test that must begin to pass in two or three forms, each kept one once."""
    questions = [Question(test, text) for test, text in material.kept]
    for index, (test, twins) in enumerate(material.fixed):
        questions += [Question(test, text, form, index) for form, text in drawn(twins, draw).items()]
    draw.shuffle(questions)
    return questions


def drawn(twins: Group, draw: random.Random) -> dict[Form, str]:
    """The forms of one test in one judging."""
    if not twins.wrong:
        return {"true": twins.true, "negated": twins.negated}
    wrong, negated_wrong = draw.choice(twins.wrong)
    forms: dict[Form, str] = {"true": twins.true, "wrong": wrong}
    if draw.random() < 0.5:
        return {**forms, "negated": twins.negated}
    return {**forms, "negated_wrong": negated_wrong}


def every_form(twins: Group) -> list[tuple[Form, str]]:
    """All that can be drawn of one test, and what a suspicion asks: what a gold solution must get right."""
    forms: list[tuple[Form, str]] = [("true", twins.true), ("negated", twins.negated)]
    for wrong, negated_wrong in twins.wrong:
        forms += [("wrong", wrong), ("negated_wrong", negated_wrong)]
    return [*forms, ("canary", twins.canary)] if twins.canary else forms


def ask(
    dialogue: Dialogue, question: Question, name: str, surroundings: Mapping[str, object]
) -> tuple[str, str]:
    """Have one test run under a name that says nothing; Broken when the answer is none."""
    test = question.test
    reply = dialogue.ask(
        {
            "op": "test",
            "module": test.module,
            "path": test.path,
            "owner": test.owner,
            "name": name,
            "source": question.text.replace(NAME, name),
            **surroundings,
        }
    )
    match reply:
        case {"outcome": str(word), "text": str(text), **rest} if not rest and word in WORDS:
            return word, text
    raise Broken("malformed", "not the outcome of a test")


def is_right(words: Words) -> bool:
    """Whether every form that was asked ended as it does for a right solution."""
    return (
        bool(words)
        and all((word == PASSED) == PASSES[form] for form, word in words.items())
        and _whole(words)
    )


def _whole(words: Words) -> bool:
    """Whether a form that must fail failed by its assertion: one that never ran is no evidence."""
    return (
        "true" in words and len(words) > 1 and not {"missing", "skipped", "malformed"} & set(words.values())
    )


def contradicts(words: Words, *, proof: bool = False) -> bool:
    """Whether two forms passed of which only one can; with `proof`, of which no operator of anybody's lets both."""
    pairs = PROOFS if proof else CONTRADICTIONS
    return any(words.get(one) == words.get(other) == PASSED for one, other in pairs)


def outcomes(material: Material, answers: Answers) -> list[Outcome]:
    """One for each test that must begin to pass, in the order of the list."""
    return [_outcome(index, answers) for index in range(len(material.fixed)) if index in answers.fixed]


def _outcome(index: int, answers: Answers) -> Outcome:
    words = answers.fixed[index]
    if is_right(words):
        return Outcome("suite", index, "correct")
    true = words.get("true", "missing")
    # Whose twin went wrong says so; which twin it was is nobody's business.
    return Outcome("suite", index, "twin" if true == PASSED else true, answers.texts.get(index, ""))


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Tests whose answers cannot all be true, and the questions that settle it."""

    questions: tuple[Question, ...]

    @classmethod
    def of(cls, material: Material, answers: Answers, draw: random.Random) -> Suspicion | None:
        """None when nothing contradicts itself."""
        odd = [index for index, words in sorted(answers.fixed.items()) if contradicts(words)]
        questions: list[Question] = []
        for index in odd[:PROVED]:
            test, twins = material.fixed[index]
            forms: dict[Form, str] = {**drawn(twins, draw), "negated": twins.negated}
            if twins.canary:
                forms["canary"] = twins.canary
            questions += [Question(test, text, form, index) for form, text in forms.items()]
        draw.shuffle(questions)
        return cls(tuple(questions)) if questions else None

    def repeated(self, draw: random.Random) -> list[Question]:
        """All questions `REPEATS` times, in some order."""
        questions = [*self.questions] * REPEATS
        draw.shuffle(questions)
        return questions


def by_test(questions: Sequence[Question], words: Sequence[str]) -> dict[int, dict[Form, str]]:
    """Answers by test and form; a form that was asked several times has passed when it always did."""
    found: dict[int, dict[Form, str]] = {}
    for question, word in zip(questions, words, strict=False):
        assert question.group is not None
        forms = found.setdefault(question.group, {})
        if forms.get(question.form, PASSED) == PASSED:
            forms[question.form] = word
    return found
