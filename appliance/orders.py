"""An order: what one attempt is to be, as the JSON payload of its job.

Everything random about an attempt is fixed here, from the seed of the run and the attempt's place in it, so
that neither arrival order nor a restart changes a draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from appliance.nouns import Listed, Purpose, Sampling

SEED_BITS = 63
"""A derived seed is below 2 to this power: what SQLite and llama.cpp both hold as a signed number."""


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt to be made. `batch`, `place` and `size` say where it stands among those made together."""

    attempt_id: str
    run_id: str
    group_id: str
    step: int
    purpose: Purpose
    task_key: str
    task_hash: str
    index: int
    seed: int
    policy_version: str
    harness: str
    sampling: Sampling
    batch: str
    place: int
    size: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Order:
        return cls(**(dict(data) | {"sampling": Sampling.from_json(data["sampling"])}))


@dataclass(frozen=True, slots=True)
class Batch:
    """The orders of one update or evaluation have this in common."""

    run_id: str
    run_seed: int
    step: int
    purpose: Purpose
    policy_version: str
    harness: str
    sampling: Sampling
    attempts: int
    """Attempts per task."""
    number: int = 1
    """Which of the batches of this update and purpose, from 1."""

    @property
    def name(self) -> str:
        return f"{self.run_id}/{self.purpose}/{self.step}"

    def group_id(self, task: Listed) -> str:
        return f"{self.name}/{task.key}"


def place_orders(batch: Batch, tasks: Sequence[Listed]) -> list[Order]:
    """Return one order per attempt, grouped by task in the given sequence."""
    size = len(tasks) * batch.attempts
    places = ((task, index) for task in tasks for index in range(batch.attempts))
    return [_order(batch, task, index, place, size) for place, (task, index) in enumerate(places)]


def _order(batch: Batch, task: Listed, index: int, place: int, size: int) -> Order:
    group_id = batch.group_id(task)
    return Order(
        attempt_id=f"{group_id}/{index}",
        run_id=batch.run_id,
        group_id=group_id,
        step=batch.step,
        purpose=batch.purpose,
        task_key=task.key,
        task_hash=task.task_hash,
        index=index,
        seed=derive_seed(batch.run_seed, batch.purpose, batch.step, task.key, index),
        policy_version=batch.policy_version,
        harness=batch.harness,
        sampling=batch.sampling,
        batch=batch.name if batch.number == 1 else f"{batch.name}#{batch.number}",
        place=place,
        size=size,
    )


def derive_seed(*parts: object) -> int:
    """A 63-bit seed from everything that names a draw; equal parts, equal seed."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 64 - SEED_BITS
