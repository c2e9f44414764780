"""The jails of one `repo` judging: builds the tree that is judged, talks to what runs in it, and keeps the accounts."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from appliance import values
from appliance.dialogue import SILENT, Broken, Dialogue
from appliance.examination import Finding, Layer, Opener, Outcome, jail_cost, jail_finding, limits
from appliance.kinds import function_worker
from appliance.kinds.function_cases import judge_reply
from appliance.kinds.repo_suite import (
    PASSED,
    Answers,
    Question,
    Suspicion,
    ask,
    by_test,
    contradicts,
    draw_for,
    outcomes,
    plan,
)
from appliance.kinds.repo_tree import Material
from appliance.nouns import Task
from appliance.sandbox.client import JailResult
from appliance.sandbox.policy import Policy

_COMMAND = ("python3", "-P", "-S", "-s", "-B", "-X", "utf8")
_COMMAND_OF_IMAGE = tuple(word for word in _COMMAND if word != "-S")
"""A task names an image for what is installed in it, which Python finds by way of `site`."""
_HELPERS = "judge/appliance"
_ROOT = "/job/repo"

Talk = Callable[[Dialogue], None]


class Bench:
    """Judges one submission. Everything random is drawn from `seed` and the hidden files."""

    def __init__(
        self, task: Task, material: Material, jails: Opener, seed: int, clock: Callable[[], float]
    ) -> None:
        self._task, self._material, self._jails, self._clock = task, material, jails, clock
        self._seed = seed
        self._draw = self._draw_for("suite")
        source = task.settings.get("source")
        self._roots = [*([f"{_ROOT}/{source}"] if source else []), _ROOT]
        # Alike in every jail of a judging, so that sets come in one order; the seed itself stays with us.
        self._hash_seed = str(self._draw_for("hashes").getrandbits(32))
        self._chance = self._draw_for("chance").getrandbits(32)
        self._layer: Layer = "quick"
        self._since = 0.0
        self.seconds: dict[Layer, float] = {}
        self.cost: dict[str, float] = {}

    def suite(self, tree: Mapping[str, bytes]) -> tuple[list[Outcome], Answers, Finding | None]:
        """The tests that the candidate has seen, and when all of them pass, the hidden ones."""
        seen: list[Outcome] = []
        answers = Answers()

        def talk(dialogue: Dialogue) -> None:
            self._ask_seen(dialogue, seen)
            if all(outcome.correct for outcome in seen):
                self._turn_to("suite")
                for question in plan(self._material, self._draw):
                    answers.note(question, *self._ask(dialogue, question))

        return seen, answers, self._converse("quick", tree, "repo_runner", talk)

    def settle(
        self, tree: Mapping[str, bytes], gold: Mapping[str, bytes], answers: Answers
    ) -> Finding | None:
        """What contradictions among the answers are worth: tampering, a broken task, or nothing that is proved."""
        suspicion = Suspicion.of(self._material, answers, self._draw_for("suspicion"))
        if suspicion is None:
            return None
        right, finding = self.words("suite", gold, suspicion.questions)
        if finding is None and any(map(contradicts, by_test(suspicion.questions, right).values())):
            finding = Finding("fail", "suite", "twin", "a twin passes with the gold solution")
        if finding is not None:
            broken = Finding("task_broken", "suite", "gold", f"{finding.outcome}: {finding.text}")
            return finding if finding.status == "infra" else broken
        questions = suspicion.repeated(self._draw)
        again, finding = self.words("suite", tree, questions)
        if finding is not None and finding.status == "infra":
            return finding
        for index, words in by_test(questions, again).items():
            if contradicts(words, proof=True):
                text = f"{self._material.fixed[index][0].id} and its opposite are both said to pass"
                return Finding("tamper", "suite", "contradiction", text)
        return None

    def words(
        self, layer: Layer, tree: Mapping[str, bytes], questions: Sequence[Question]
    ) -> tuple[list[str], Finding | None]:
        """Ask only these, in a new jail; fewer words than questions when it broke off."""
        words: list[str] = []

        def talk(dialogue: Dialogue) -> None:
            for question in questions:
                words.append(self._ask(dialogue, question)[0])

        return words, self._converse(layer, tree, "repo_runner", talk)

    def probe(self, tree: Mapping[str, bytes]) -> tuple[list[Outcome], Finding | None]:
        """The calls of the probe, in a jail where no test has been."""
        found: list[Outcome] = []
        cap = int(self._task.settings["budgets"]["answer_kb"]) * 1024

        def talk(dialogue: Dialogue) -> None:
            for probe in self._material.probes:
                request = {"op": "call", "target": probe.target, "roots": self._roots, "cap": cap}
                case = probe.case
                found.append(
                    judge_reply(case, dialogue.ask({**request, "args": case.args, "kwargs": case.kwargs}))
                )

        return found, self._converse("hidden", tree, "repo_prober", talk)

    def unbroken(self, seen: Sequence[Outcome], answers: Answers) -> bool:
        """Whether everything that passed before was run and passed."""
        kept = [answers.kept.get(test.id, ("missing", "")) for test, _ in self._material.kept]
        complete = len(seen) == len(self._material.public)
        return (
            complete and all(outcome.correct for outcome in seen) and all(word == PASSED for word, _ in kept)
        )

    def broken(self, answers: Answers) -> list[Outcome]:
        """Evidence of hidden tests that passed before and do not now; of no credit, whatever they say."""
        return [
            Outcome("quality", index, word, text)
            for index, (test, _) in enumerate(self._material.kept)
            for word, text in [answers.kept.get(test.id, (PASSED, ""))]
            if word != PASSED
        ]

    def found(self, answers: Answers) -> list[Outcome]:
        return outcomes(self._material, answers)

    def _ask_seen(self, dialogue: Dialogue, seen: list[Outcome]) -> None:
        for index, (test, text) in enumerate(self._material.public):
            word, trouble = self._ask(dialogue, Question(test, text))
            seen.append(Outcome("quick", index, "correct" if word == PASSED else word, trouble))

    def _ask(self, dialogue: Dialogue, question: Question) -> tuple[str, str]:
        name = f"test_{self._draw.getrandbits(48):012x}"
        return ask(dialogue, question, name, {"roots": self._roots, "chance": self._chance})

    def _draw_for(self, purpose: str) -> random.Random:
        return draw_for(self._seed, self._task.hidden_hash, purpose)

    def _turn_to(self, layer: Layer) -> None:
        now = self._clock()
        self.seconds[self._layer] = self.seconds.get(self._layer, 0.0) + now - self._since
        self._layer, self._since = layer, now

    def _converse(self, layer: Layer, tree: Mapping[str, bytes], program: str, talk: Talk) -> Finding | None:
        """One jail with this tree; what its end and its breaches say."""
        self._layer, self._since = layer, self._clock()
        budgets = self._task.settings["budgets"]
        python = _COMMAND_OF_IMAGE if self._task.image else _COMMAND
        command = (
            *python,
            f"/job/{_HELPERS}/kinds/{program}.py",
            self._task.settings.get("runner", "unittest"),
        )
        policy = Policy(limits(self._task), env=(("PYTHONHASHSEED", self._hash_seed),))
        files = {**_helpers(program), **{f"repo/{name}": body for name, body in tree.items()}}
        broken: Broken | None = None
        with self._jails.open(command, policy, files=files) as conversation:
            dialogue = Dialogue(conversation, int(budgets["answer_kb"]) * 1024, float(budgets["wall_s"]))
            try:
                talk(dialogue)
                dialogue.end()
            except Broken as found:
                broken = found
            result = conversation.finish()
        self._turn_to(self._layer)
        self._account(jail_cost(result))
        return decide(result, self._layer, broken)

    def _account(self, cost: Mapping[str, float]) -> None:
        """Times add up over the jails of a judging; of the memory the largest counts."""
        for name, used in cost.items():
            held = self.cost.get(name, 0.0)
            self.cost[name] = max(held, used) if name == "peak_mib" else held + used


def decide(result: JailResult, layer: Layer, broken: Broken | None) -> Finding | None:
    """The jail's own ending first, then a breach of protocol."""
    ending = jail_finding(result, layer)
    if ending is not None or broken is None:
        return ending
    if broken.outcome == SILENT:
        return Finding("infra", layer, SILENT, "the jail was not ended at its wall limit")
    said = result.stderr[-400:].decode(errors="replace")
    text = broken.text or f"{result.detail or result.status} {said}".strip()
    return Finding("candidate_protocol", layer, broken.outcome, text)


@functools.cache
def _helpers(program: str) -> Mapping[str, bytes]:
    """What a program of ours needs in the jail, where it lies outside the candidate's tree."""
    here = Path(__file__).parent
    return {
        f"{_HELPERS}/kinds/{program}.py": (here / f"{program}.py").read_bytes(),
        f"{_HELPERS}/kinds/repo_pytest.py": (here / "repo_pytest.py").read_bytes(),
        f"{_HELPERS}/kinds/function_worker.py": Path(function_worker.__file__).read_bytes(),
        f"{_HELPERS}/values.py": Path(values.__file__).read_bytes(),
    }
