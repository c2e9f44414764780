"""The local engine as a policy: it keeps the weights that are published across a death of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.engine.client import BatchPlace, Completion, Engine
from appliance.errors import EngineError
from appliance.nouns import Sampling
from appliance.orders import Order

ATTEMPT_S = 900.0
"""Longest wait for one attempt, its place in the line included."""


@dataclass(frozen=True, slots=True)
class Weights:
    """An adapter file (None: the base alone) and the policy version it makes."""

    adapter: Path | None
    version: str


class EnginePolicy:
    """Samples from the engine; restarts it with the published weights when it has died."""

    def __init__(self, engine: Engine, base_version: str, mended: Callable[[], None]) -> None:
        """`mended` is called after the engine died and was started again."""
        self.engine, self._tell_mended = engine, mended
        self._weights = Weights(None, base_version)
        self._mending = threading.Lock()
        self._halted = False

    @property
    def build(self) -> str:
        return self.engine.info.build

    def encode(self, text: str) -> tuple[int, ...]:
        with self._mended():
            return self.engine.tokenize(text, add_bos=self.engine.info.add_bos)

    def sample(self, prompt: Sequence[int], sampling: Sampling, order: Order) -> Completion:
        """Raises EngineError; by then the engine is up again, so that the job can be retried."""
        if self._halted:
            raise EngineError("the run is ending")
        if order.policy_version != self._weights.version:
            raise EngineError(
                f"attempt {order.attempt_id} asks for policy {order.policy_version}, loaded is {self._weights.version}"
            )
        place = BatchPlace(order.batch, order.place, order.size)
        with self._mended():
            completion = self.engine.generate(
                prompt, sampling, seed=order.seed, batch=place, timeout_s=ATTEMPT_S
            )
        if completion.stop_reason == "cancelled":
            raise EngineError(f"attempt {order.attempt_id} was cancelled or took over {ATTEMPT_S:.0f} s")
        return completion

    def halt(self) -> None:
        """End what is being sampled and refuse more; the jobs stay in the queue."""
        self._halted = True
        if self.engine.alive:
            self.engine.cancel()

    def publish(self, adapter: Path | None, version: str) -> None:
        """Attach new weights; every later attempt carries `version`. Nothing is sampling meanwhile."""
        self._mend()
        self.engine.set_adapter(adapter, version)
        self._weights = Weights(adapter, version)

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """Whatever fails in here, the engine is up again afterwards."""
        try:
            yield
        except EngineError:
            self._mend()
            raise

    def _mend(self) -> None:
        with self._mending:
            if not self._halted and not self.engine.alive:
                self.engine.restart()
                self._tell_mended()
