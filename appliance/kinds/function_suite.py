"""Assertions on a `function`, heard in a tester jail: the go-between of two jails that know nothing of each other.

A call of the assertions comes as one frame from the tester, goes as one question to the candidate, and its answer
goes back as a canonical value or the name of a built-in exception. What a candidate cannot express as such ends the
hearing, so that nothing in its place can satisfy an assertion.

An assertion that fails is the candidate's failure. When the assertions themselves break (an error in them, a limit,
too many calls), it is the candidate's failure only where the gold solution gets through the same hearing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from appliance import values
from appliance.dialogue import Broken, Dialogue
from appliance.errors import SandboxError
from appliance.examination import Finding, Opener, Outcome, jail_finding
from appliance.kinds.function_cases import Answer, Material
from appliance.kinds.function_interview import Ask, Interview
from appliance.kinds.function_jail import open_author, open_candidate
from appliance.kinds.function_plain import assertions
from appliance.nouns import Task
from appliance.orders import derive_seed
from appliance.sandbox.client import JailResult
from appliance.trial import conversation_ending

CALLS = 2000
"""Calls of the candidate that assertions may make, unless the task says otherwise."""
KEPT = 512
"""Golds that are remembered to have got through."""
_ENDS = ("correct", "assertion_failed", "candidate_raised", "check_fault")
_CERTAIN = ("correct", "assertion_failed", "candidate_raised", "unencodable")
"""Endings for which the assertions themselves cannot be to blame, or had no say."""

_sound: OrderedDict[tuple[str, str, int], None] = OrderedDict()
_locked = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a hearing ended, in a word; `text` is the name of an exception or candidate text."""

    outcome: str
    text: str = ""


class Suite:
    """The assertions of a task for one submission."""

    def __init__(self, task: Task, found: Material, jails: Opener, seed: int, case: int) -> None:
        """`case`: the number of the assertions among the hidden cases."""
        self._task, self._found, self._jails, self._seed, self._case = task, found, jails, seed, case
        self.doubtful = False
        """Whether the assertions themselves may be to blame."""
        self.cost: dict[str, float] = {}

    def hear(self, ask: Ask) -> Outcome:
        """Hold the assertions against a candidate. Broken when the candidate leaves the protocol."""
        ended = self._read(ask) or self._run(ask)
        self.doubtful = ended.outcome not in _CERTAIN
        return Outcome("suite", self._case, ended.outcome, ended.text)

    def _read(self, ask: Ask) -> _Ended | None:
        """The ending of assertions that are only data; None when they are more."""
        found = assertions(self._found.check, self._task.settings["check"])
        if found is None or len(found) > self._most_calls:
            return None
        for assertion in found:
            answer = ask(assertion.args, {})
            if answer.outcome != "value":
                word = "candidate_raised" if answer.outcome == "raised" else answer.outcome
                return _Ended(word, answer.text)
            if not assertion.holds(answer.tree):
                return _Ended("assertion_failed", values.dumps(answer.tree).decode())
        return _Ended("correct")

    @property
    def _most_calls(self) -> int:
        return int(self._task.settings.get("calls", CALLS))

    def _run(self, ask: Ask) -> _Ended:
        """The ending of assertions that run in a tester jail."""
        budgets = self._task.settings["budgets"]
        with open_author(self._task, self._jails, "function_tester", {"check.py": self._found.check}) as talk:
            tester = Dialogue(talk, int(budgets["answer_kb"]) * 1024, 2 * float(budgets["wall_s"]))
            ended = self._moderate(tester, ask)
            result = talk.finish()
        self.cost = {"tester_cpu_s": result.cpu_s} if result.cpu_s is not None else {}
        if ended.outcome == "tester_broken":
            _refuse_host_faults(result)
        return ended

    def _moderate(self, tester: Dialogue, ask: Ask) -> _Ended:
        """Carry calls and answers until the assertions end."""
        words = {"op": "check", "entry": self._task.entry_point, "check": self._task.settings["check"]}
        say: Mapping[str, Any] = {**words, "seed": derive_seed("check", self._seed, self._task.task_hash)}
        for _ in range(self._most_calls + 1):
            try:
                reply = tester.ask(say)
            except Broken as broken:
                return _Ended("tester_broken", broken.outcome)
            match reply:
                case {"ended": str(word), "text": str(text)} if word in _ENDS:
                    return _Ended(word, text)
                case {"call": {"args": list(args), "kwargs": dict(kwargs)}} if _can_cross(args, kwargs):
                    answer = ask(args, kwargs)
                case _:
                    return _Ended("tester_broken", "malformed")
            if answer.outcome == "unencodable":
                return _Ended("unencodable", answer.text)
            say = _crossing(answer)
        return _Ended("too_many_calls")

    def settle(self, clock: Callable[[], float]) -> Finding | None:
        """After a doubtful ending: a finding when the gold solution does not get through either."""
        key = (self._task.folder, self._task.task_hash, self._seed)
        with _locked:
            if key in _sound:
                return None
        outcome = hear_gold(self._task, self._found, self._jails, self._seed, clock)
        if outcome != "correct":
            text = f"the gold solution ends as {outcome} in tests/check.py"
            return Finding("task_broken", "suite", "gold_failed", text)
        with _locked:
            _sound[key] = None
            while len(_sound) > KEPT:
                _sound.popitem(last=False)
        return None


def _can_cross(args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call is of canonical values; what is not would break the worker, as if by the candidate's doing."""
    try:
        values.normal(args)
        values.normal(list(kwargs.values()))
    except values.ValueFault:
        return False
    return not any(name.startswith("$") for name in kwargs)


def _crossing(answer: Answer) -> dict[str, Any]:
    if answer.outcome == "value":
        return {"op": "answer", "value": answer.tree}
    return {"op": "answer", "raised": list(answer.family), "message": answer.message}


def hear_gold(task: Task, found: Material, jails: Opener, seed: int, clock: Callable[[], float]) -> str:
    """How the assertions end with the gold solution, in one word."""
    suite, interview = Suite(task, found, jails, seed, 0), Interview(task, clock)
    with open_candidate(task, jails, found.gold) as talk:
        interview.conduct(talk, (), (), suite.hear)
        result = talk.finish()
    finding = conversation_ending(result, interview.watch.layer, interview.broken, interview.failed_load)
    if finding is not None:
        _refuse_host_faults(result)
        return finding.outcome
    return interview.outcomes[-1].outcome


def _refuse_host_faults(result: JailResult) -> None:
    """SandboxError when a jail ended as it did because of the host, or because we were told to end it."""
    ending = jail_finding(result, "suite")
    if ending is not None and ending.status == "infra":
        raise SandboxError(f"a tester jail: {ending.text or ending.outcome}", remedy="try again")
