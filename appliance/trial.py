"""What the kinds share of one pass over a submission's cases: time by layer, cost, and how it was broken off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from appliance.dialogue import SILENT, Broken
from appliance.examination import (
    Examination,
    Finding,
    Layer,
    Opener,
    Outcome,
    jail_cost,
    jail_finding,
)
from appliance.nouns import Task
from appliance.sandbox.client import JailResult, JailStatus

_OVER_LIMITS = ("candidate_timeout", "candidate_resource")


class Decided(Exception):
    """A finding that ends the judging."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


class Watch:
    """Seconds by layer; `layer` is the one that was entered last."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.layer: Layer = "quick"
        self.seconds: dict[Layer, float] = {}

    @contextmanager
    def on(self, layer: Layer) -> Iterator[None]:
        """Time what is done inside as that layer's."""
        self.layer = layer
        started = self._clock()
        try:
            yield
        finally:
            self.seconds[layer] = self._clock() - started


class Trial:
    """One pass over the cases of a submission that gets a jail for each case."""

    def __init__(self, task: Task, jails: Opener, clock: Callable[[], float]) -> None:
        self.task, self.jails = task, jails
        self.aside: Opener = getattr(jails, "aside", jails)
        """For what the author wrote, which is not what an audit watches."""
        self.watch = Watch(clock)
        self.outcomes: list[Outcome] = []
        self.cost: dict[str, float] = {}

    def count(self, result: JailResult) -> None:
        """Times add up over the cases; of memory the most counts."""
        for name, used in jail_cost(result).items():
            before = self.cost.get(name, 0.0)
            self.cost[name] = max(before, used) if name == "peak_mib" else before + used

    def ended(self, result: JailResult, layer: Layer, case: int) -> Outcome | None:
        """The outcome of a case whose jail decided it, None where the answer does.

        A limit that is broken decides one case of a graded task; everything else decides the submission: Decided.
        """
        finding = jail_finding(result, layer)
        if finding is None:
            return None
        graded = self.task.settings.get("core") == "graded"
        if not graded or layer == "quick" or finding.status not in _OVER_LIMITS:
            raise Decided(finding)
        return Outcome(layer, case, finding.outcome, finding.text)

    def examination(self, totals: tuple[int, int], finding: Finding | None) -> Examination:
        """What was found, with the task's own denominators."""
        public, hidden = totals
        return Examination(
            public_total=public,
            hidden_total=hidden,
            outcomes=tuple(self.outcomes),
            finding=finding,
            seconds=self.watch.seconds,
            cost=self.cost,
        )


def blamed(finding: Finding, result: JailResult | None = None) -> Finding:
    """The author's failure that a finding tells of, unless the host failed."""
    of_host = finding.status == "infra" or (result is not None and result.status is JailStatus.infra)
    if of_host:
        detail = finding.text if result is None else result.detail
        return Finding("infra", finding.layer, "infra", detail)
    return replace(finding, status="task_broken")


def conversation_ending(
    result: JailResult, layer: Layer, broken: Broken | None, otherwise: Finding | None
) -> Finding | None:
    """Of a conversation: the jail's own ending first, then a breach of protocol, then what the worker said."""
    ending = jail_finding(result, layer)
    if ending is not None or broken is None:
        return ending or otherwise
    if broken.outcome == SILENT:
        return Finding("infra", layer, SILENT, "the jail was not ended at its wall limit")
    said = f"{result.detail or result.status} {result.stderr[-400:].decode(errors='replace')}".strip()
    return Finding("candidate_protocol", layer, broken.outcome, broken.text or said)
