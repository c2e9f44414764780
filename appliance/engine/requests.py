"""What the scheduler is asked for, checked before it enters the line."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.engine.records import MAX_SEED, BatchPlace, Completion
from appliance.errors import EngineError
from appliance.nouns import Sampling

Outcome = tuple[int, Completion | tuple[float, ...] | EngineError]
"""The number of a request and what came of it."""


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """One `generate` call."""

    number: int
    prompt: tuple[int, ...]
    sampling: Sampling
    seed: int
    place: BatchPlace | None = None
    deadline: float | None = None

    def check(self) -> None:
        check_temperature(self.sampling.temperature)
        if self.sampling.max_tokens < 1:
            raise EngineError(
                f"max_tokens is {self.sampling.max_tokens}", remedy="ask for at least one token"
            )
        if not 0 <= self.seed <= MAX_SEED:
            raise EngineError(f"seed {self.seed} is out of range", remedy="use 0 to 2**128 - 1")
        if self.place and not 0 <= self.place.index < self.place.size:
            raise EngineError(f"index {self.place.index} is outside a batch of {self.place.size}")


@dataclass(frozen=True, eq=False, slots=True)
class ScoreRequest:
    """One `score` call: the log-probabilities of given ids."""

    number: int
    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    temperature: float = 1.0
    place: None = None
    deadline: None = None

    def check(self) -> None:
        check_temperature(self.temperature)
        if self.temperature == 0:
            raise EngineError(
                "greedy draws have no log-probabilities to score", remedy="use a temperature above 0"
            )


def check_temperature(temperature: float) -> None:
    """Refuse what float32 logits cannot be divided by sensibly."""
    if not (temperature == 0 or 0.01 <= temperature <= 100):
        raise EngineError(
            f"temperature {temperature} is out of range", remedy="use 0 (greedy) or 0.01 to 100"
        )
