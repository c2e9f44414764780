"""The conversation with a candidate's worker: its cases in order, then the assertions, until it breaks off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from appliance import values
from appliance.dialogue import Broken, Dialogue
from appliance.examination import Finding, Outcome
from appliance.kinds.function_cases import Answer, Case, Question, judge_answer, judge_pair, read_reply
from appliance.nouns import Task
from appliance.sandbox.client import Peer
from appliance.trial import Watch

Ask = Callable[[list[values.Tree], Mapping[str, values.Tree]], Answer]
"""One call of the candidate."""
Hear = Callable[[Ask], Outcome]
"""Assertions that call the candidate as often as they like."""


class Interview:
    """One pass over the cases of a task: collects outcomes and what broke the conversation off."""

    def __init__(self, task: Task, clock: Callable[[], float]) -> None:
        self._task = task
        self.watch = Watch(clock)
        self.answer_cap = int(task.settings["budgets"]["answer_kb"]) * 1024
        self.outcomes: list[Outcome] = []
        self.failed_load: Finding | None = None
        self.broken: Broken | None = None

    def conduct(
        self, talk: Peer, public: Sequence[Question], hidden: Sequence[Question], hear: Hear | None = None
    ) -> None:
        """Load the solution and ask, layer after layer, as long as all answers are right."""
        dialogue = Dialogue(talk, self.answer_cap, float(self._task.settings["budgets"]["wall_s"]))
        try:
            self._ask_layers(dialogue, public, hidden, hear)
            dialogue.end()
        except Broken as broken:
            self.broken = broken

    def _ask_layers(
        self, dialogue: Dialogue, public: Sequence[Question], hidden: Sequence[Question], hear: Hear | None
    ) -> None:
        with self.watch.on("quick"):
            going_on = self._load(dialogue)
            if going_on and not public:
                # Without an example, that the solution loads is what the layer has to ask.
                self.outcomes.append(Outcome("quick", 0, "correct"))
            going_on = going_on and self._ask_all(dialogue, public)
        if going_on and hidden:
            with self.watch.on("hidden"):
                going_on = self._ask_all(dialogue, hidden)
        if going_on and hear is not None:
            with self.watch.on("suite"):
                self.outcomes.append(hear(self.asking(dialogue)))

    def _load(self, dialogue: Dialogue) -> bool:
        reply = dialogue.ask({"op": "load", "entry": self._task.entry_point})
        if reply == {"loaded": True}:
            return True
        outcome = reply.get("failed")
        if outcome not in ("syntax_error", "load_error", "no_entry_point"):
            raise Broken("malformed")
        self.failed_load = Finding("fail", "quick", outcome, str(reply.get("text", "")))
        return False

    def asking(self, dialogue: Dialogue) -> Ask:
        """The candidate as a function of arguments; Broken when it leaves the protocol."""

        def ask(args: list[values.Tree], kwargs: Mapping[str, values.Tree]) -> Answer:
            request = {"op": "call", "args": args, "kwargs": kwargs, "cap": self.answer_cap}
            return read_reply(dialogue.ask(request))

        return ask

    def _ask_all(self, dialogue: Dialogue, questions: Sequence[Question]) -> bool:
        ask, right = self.asking(dialogue), True
        for question in questions:
            outcome = _judged(ask, question)
            self.outcomes.append(outcome)
            right &= outcome.correct
        return right


def _judged(ask: Ask, question: Question) -> Outcome:
    if isinstance(question, Case):
        return judge_answer(question, ask(question.args, question.kwargs))
    return judge_pair(question, ask(question.first, {}), ask(question.second, {}))
