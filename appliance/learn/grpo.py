"""One GRPO update: token-level policy gradient with truncated importance weights and a constant denominator.

    loss = −(1 / planned) · Σ over tokens  m · min(r, cap) · A · log p,      r = p / p_engine, no gradient through r

Ratios are taken against the log-probabilities the engine sampled with, so one weight corrects staleness and
rounding together (the weight of CISPO, 2506.13585, and of truncated importance sampling); m drops tokens whose
ratio lies outside `token_mask`. The denominator is the planned number of tokens and never what happened to be
sampled, so the size of an update does not jump when groups drop out (Dr. GRPO, 2503.20783). Samples with advantage
zero are not run at all. No KL term; k3 is measured only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from appliance.errors import LearnerError
from appliance.learn.logprob import Head, score_rows
from appliance.learn.packing import completion_rows, plan
from appliance.learn.settings import LearnerSettings
from appliance.nouns import Sample

_FAR = 30.0


@dataclass
class Tally:
    """Sums over the tokens of an update."""

    loss: float = 0.0
    tokens: int = 0
    k3: float = 0.0
    abs_logratio: float = 0.0
    max_abs_logratio: float = 0.0
    capped: int = 0
    masked: int = 0
    contributing: int = 0
    entropy: float = 0.0
    entropy_rows: int = 0

    def mean(self, total: float) -> float:
        return total / self.tokens if self.tokens else 0.0


def check_samples(samples: Sequence[Sample], vocabulary: int) -> None:
    """Refuse what would index outside the vocabulary or turn the loss into a NaN."""
    for sample in samples:
        name = f"sample {sample.attempt_id}"
        if not sample.prompt_ids:
            raise LearnerError(f"{name}: prompt_ids is empty; a prompt has at least the begin token")
        if len(sample.logprobs) != len(sample.completion_ids):
            raise LearnerError(f"{name}: logprobs and completion_ids differ in length")
        if not math.isfinite(sample.advantage) or not all(map(math.isfinite, sample.logprobs)):
            raise LearnerError(f"{name}: advantage and logprobs must be finite")
        ids = (*sample.prompt_ids, *sample.completion_ids)
        if min(ids) < 0 or max(ids) >= vocabulary:
            raise LearnerError(f"{name}: a token id is outside the vocabulary of {vocabulary}")


def accumulate(
    model: Any, head: Head, samples: Sequence[Sample], planned_tokens: int, settings: LearnerSettings
) -> Tally:
    """Add the gradient of the loss over `samples` to the LoRA weights, a batch of prompts at a time."""
    tally = Tally()
    live = [sample for sample in samples if sample.advantage != 0 and sample.completion_ids]
    for packs in plan(live, settings.micro_tokens):
        rows = completion_rows(model, live, packs)
        scored = score_rows(rows.hidden, rows.targets, head)
        owners = [live[owner] for owner in rows.owners]
        weights = _token_weights(scored.logprobs.detach(), owners, settings, tally)
        loss = -(weights * scored.logprobs).sum() / planned_tokens
        tally.loss += float(loss.detach())
        tally.entropy += float(scored.entropy.sum())
        tally.entropy_rows += len(scored.entropy)
        if bool((weights != 0).any()):
            loss.backward()
    return tally


def score(model: Any, head: Head, samples: Sequence[Sample], budget: int) -> tuple[tuple[float, ...], ...]:
    """Return the log-probability of every completion token, in the order of `samples`."""
    scores: dict[int, tuple[float, ...]] = {
        position: () for position, sample in enumerate(samples) if not sample.completion_ids
    }
    filled = [position for position in range(len(samples)) if position not in scores]
    live = [samples[position] for position in filled]
    for packs in plan(live, budget):
        with torch.no_grad():
            rows = completion_rows(model, live, packs)
            values = score_rows(rows.hidden, rows.targets, head).logprobs.tolist()
        for owner in rows.owners:
            length = len(live[owner].completion_ids)
            scores[filled[owner]] = tuple(values[:length])
            del values[:length]
    return tuple(scores[position] for position in range(len(samples)))


def _token_weights(logprobs: Any, owners: Sequence[Sample], settings: LearnerSettings, tally: Tally) -> Any:
    """Return m · min(r, cap) · A per row, and note what was seen."""
    engine, advantages = _per_token(owners, logprobs)
    # Far outside every mask already; without a bound a broken log-probability would overflow the measurements.
    logratio = (logprobs - engine).clamp(-_FAR, _FAR)
    ratio = logratio.exp()
    low, high = settings.token_mask
    inside = (ratio >= low) & (ratio <= high)
    tally.tokens += len(ratio)
    tally.k3 += float((torch.expm1(logratio) - logratio).sum())
    tally.abs_logratio += float(logratio.abs().sum())
    tally.max_abs_logratio = max(tally.max_abs_logratio, float(logratio.abs().max()))
    tally.capped += int((ratio > settings.weight_cap).sum())
    tally.masked += int((~inside).sum())
    tally.contributing += int(inside.sum())
    return torch.where(inside, ratio.clamp(max=settings.weight_cap) * advantages, torch.zeros_like(ratio))


def _per_token(owners: Sequence[Sample], like: Any) -> tuple[Any, Any]:
    engine = [value for sample in owners for value in sample.logprobs]
    advantages = [sample.advantage for sample in owners for _ in sample.completion_ids]
    return like.new_tensor(engine), like.new_tensor(advantages)
