"""The agent loop: an order and a policy in, an attempt out.

It knows a policy only as "ids in, sampled ids with log-probabilities out"; today that is the local engine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol

from appliance.errors import ConfigError
from appliance.harness import complete
from appliance.nouns import Attempt, Sampling, Segment, StopReason, Task
from appliance.orders import Order

HARNESSES: dict[str, ModuleType] = {"complete": complete}


class Answer(Protocol):
    """What a policy gives back; `trimmed` is the text without the stop string."""

    @property
    def ids(self) -> tuple[int, ...]: ...
    @property
    def logprobs(self) -> tuple[float, ...]: ...
    @property
    def stop_reason(self) -> StopReason: ...
    @property
    def trimmed(self) -> bytes: ...
    @property
    def policy_version(self) -> str: ...


class Policy(Protocol):
    """Where tokens come from."""

    @property
    def build(self) -> str: ...
    def encode(self, text: str) -> tuple[int, ...]: ...
    def sample(self, prompt: Sequence[int], sampling: Sampling, order: Order) -> Answer: ...


def stops_of(harness: str) -> tuple[str, ...]:
    """The stop strings a harness asks for."""
    stop: tuple[str, ...] = harness_named(harness).STOP
    return stop


def harness_named(name: str) -> ModuleType:
    if name not in HARNESSES:
        raise ConfigError(f"there is no harness {name!r}", remedy=f"use one of {', '.join(HARNESSES)}")
    return HARNESSES[name]


def attempt(order: Order, task: Task, policy: Policy) -> Attempt:
    """Make the attempt that `order` asks for. Raises what the policy raises."""
    harness = harness_named(order.harness)
    prompt = policy.encode(harness.prompt(task))
    started = time.monotonic()
    answer = policy.sample(prompt, order.sampling, order)
    return Attempt(
        id=order.attempt_id,
        run_id=order.run_id,
        group_id=order.group_id,
        step=order.step,
        purpose=order.purpose,
        task_key=order.task_key,
        task_hash=order.task_hash,
        index=order.index,
        harness=order.harness,
        policy_version=answer.policy_version,
        engine_build=policy.build,
        seed=order.seed,
        sampling=order.sampling,
        segments=(
            Segment("prompt", prompt),
            Segment("sampled", answer.ids, answer.logprobs, answer.policy_version),
        ),
        stop_reason=answer.stop_reason,
        artefacts=harness.artefacts(task, answer.trimmed),
        generate_s=time.monotonic() - started,
    )
