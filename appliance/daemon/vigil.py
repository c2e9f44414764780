"""Watches a run that is carried out for stalls: who its processes are, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace

from appliance.daemon.crew import EmbeddedCrew
from appliance.daemon.gear import Gear
from appliance.daemon.processes import Holder
from appliance.daemon.stalls import Stalls
from appliance.errors import SandboxError
from appliance.plan import Plan
from appliance.sandbox.remote import RemoteJails
from appliance.yard import Yard


class Vigil:
    """`gear` is the given one, with a journal that is listened to; `keep` begins to watch a crew that works with it."""

    def __init__(self, plan: Plan, gear: Gear, held: Callable[[], bool]) -> None:
        """`held`: whether the run is meant to wait."""
        journal = gear.journal
        self._crew: EmbeddedCrew | None = None
        self._jailer = _Jailer(gear.yard)
        self._stalls = Stalls(
            plan.folder,
            # Through the journal that is not listened to: a stall is no progress.
            lambda kind, data: journal.event(kind, **data),
            self._holders,
            held=held,
        )
        self.gear = replace(gear, journal=replace(journal, listeners=(*journal.listeners, self._stalls.hear)))

    def keep(self, stack: ExitStack, crew: EmbeddedCrew) -> None:
        """Watch until the stack closes; it closes us before the crew."""
        self._crew = crew
        stack.enter_context(self._stalls)

    def _holders(self) -> list[Holder]:
        if self._crew is None:
            return []
        engine, learner = self._crew.policy.engine, self._crew.trainer
        found = [Holder("engine", engine.pid, engine.stacks, lambda: engine.owes)]
        if learner is not None:
            found.append(Holder("learner", learner.pid, learner.stacks, lambda: learner.owes))
        return [*found, *self._jailer.holders()]


class _Jailer:
    """The jailer, when there is one. One that does not say its pid goes by the last it said."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._pid = 0

    def holders(self) -> list[Holder]:
        jails = self._yard.default
        if not isinstance(jails, RemoteJails):
            return []
        with suppress(SandboxError):
            self._pid = jails.status().pid
        return [Holder("jailer", self._pid, None, lambda: jails.live > 0)] if self._pid else []
