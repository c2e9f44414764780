"""Log-probabilities of chosen tokens from hidden states, without ever holding rows × vocabulary.

A vocabulary of 262k makes full logits the largest thing in the learner by far. Here the output matrix is walked in
tiles; only rows × tile exists at once. The gradient with respect to each hidden row is one vector,
(W[chosen] − Σ p·W) / temperature, so the forward pass finishes it tile by tile and the backward pass only
multiplies. The output matrix itself gets no gradient: it is frozen.

`exact` keeps a running log-sum-exp in float32 (float64 for float64 input). `fast` multiplies in bfloat16, three times
as quick on a CPU that can. A bfloat16 logit near 20 is off by up to 0.06, so the fast products do not yield logits:
the chosen token's logit is subtracted inside the product, by three more columns, before anything is rounded. What
comes out is near zero where it matters, and log p = −log Σ exp(logit − chosen logit). Rows where that sum
leaves the safe range (a chosen token below e⁻⁶⁰) are done again exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

ROWS = 1024
ENTROPY_STRIDE = 8
_TILE_ELEMENTS = 1 << 20
_SAFE_SUM = 1e26
_REFERENCE_COLUMNS = 3
_COLUMN_MULTIPLE = 32


@dataclass(frozen=True, slots=True)
class Head:
    """The output matrix and how to multiply with it."""

    weight: Any
    """Vocabulary × hidden, frozen."""
    temperature: float = 1.0
    fast_weight: Any = None
    """Made by `fast_copy`; None keeps everything exact."""


class Scored(NamedTuple):
    """One log-probability per row, and the entropy of every eighth row."""

    logprobs: Any
    entropy: Any


class _Sums(NamedTuple):
    """What one walk over the vocabulary yields per row."""

    logprobs: Any
    entropy: Any
    mean_weight: Any
    """Σ p·W; None when no gradient is wanted."""


def fast_copy(weight: Any) -> Any:
    """Return the output matrix in bfloat16 with the columns that subtract a row's reference."""
    vocabulary, width = weight.shape
    columns = -(-(width + _REFERENCE_COLUMNS) // _COLUMN_MULTIPLE) * _COLUMN_MULTIPLE
    copy = torch.zeros(vocabulary, columns, dtype=torch.bfloat16, device=weight.device)
    copy[:, :width] = weight
    copy[:, width : width + _REFERENCE_COLUMNS] = -1
    return copy


def score_rows(hidden: Any, targets: Any, head: Head) -> Scored:
    """Return log p(target | hidden) per row at the head's temperature; differentiable in `hidden`."""
    parts = [
        Scored(*_FusedLogprob.apply(rows, chosen, head))
        for rows, chosen in zip(hidden.split(ROWS), targets.split(ROWS), strict=True)
    ]
    return Scored(torch.cat([part.logprobs for part in parts]), torch.cat([part.entropy for part in parts]))


class _FusedLogprob(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, hidden: Any, targets: Any, head: Head) -> tuple[Any, Any]:
        wants_gradient = ctx.needs_input_grad[0]
        wide = torch.promote_types(hidden.dtype, torch.float32)
        scaled = hidden.to(wide) / head.temperature
        if head.fast_weight is None:
            sums = _exact_sums(scaled, targets, head, wants_gradient)
        else:
            sums = _repaired(_fast_sums(scaled, targets, head, wants_gradient), scaled, targets, head)
        if wants_gradient:
            ctx.save_for_backward((head.weight[targets].to(wide) - sums.mean_weight) / head.temperature)
        ctx.hidden_dtype = hidden.dtype
        ctx.mark_non_differentiable(sums.entropy)
        return sums.logprobs, sums.entropy

    @staticmethod
    def backward(ctx: Any, grad_logprobs: Any, _grad_entropy: Any) -> tuple[Any, None, None]:
        (gradient,) = ctx.saved_tensors
        return (grad_logprobs[:, None] * gradient).to(ctx.hidden_dtype), None, None


def _exact_sums(scaled: Any, targets: Any, head: Head, wants_gradient: bool) -> _Sums:
    """Walk the vocabulary with a running maximum: every sum is relative to the largest logit so far."""
    rows, width = scaled.shape
    inputs, weight = scaled.to(head.weight.dtype), head.weight
    # A finite start: the first rescaling multiplies by exp(start − largest) = 0 without making a NaN.
    largest = scaled.new_full((rows, 1), -1e30)
    total, weighted = scaled.new_zeros(rows, 1), scaled.new_zeros(rows, 1)
    mean_weight = scaled.new_zeros(rows, width) if wants_gradient else None
    tile = _tile(rows)
    for start in range(0, len(weight), tile):
        part = weight[start : start + tile]
        logits = (inputs @ part.T).to(scaled.dtype)
        before, largest = largest, torch.maximum(largest, logits.amax(-1, keepdim=True))
        shift = before - largest
        keep = shift.exp()
        logits -= largest
        shares = logits.exp()
        weighted = (weighted + total * shift) * keep + (shares * logits).sum(-1, keepdim=True)
        total = total * keep + shares.sum(-1, keepdim=True)
        if mean_weight is not None:
            mean_weight.mul_(keep).add_((shares.to(weight.dtype) @ part).to(scaled.dtype))
    chosen = (scaled * weight[targets].to(scaled.dtype)).sum(-1, keepdim=True)
    logprobs = chosen - largest - total.log()
    entropy = (total.log() - weighted / total)[::ENTROPY_STRIDE]
    return _Sums(logprobs[:, 0], entropy[:, 0], None if mean_weight is None else mean_weight / total)


def _fast_sums(scaled: Any, targets: Any, head: Head, wants_gradient: bool) -> _Sums:
    """Walk the vocabulary in bfloat16, relative to the chosen token's logit."""
    rows, width = scaled.shape
    weight = head.fast_weight
    inputs = _with_reference(scaled, targets, weight)
    total = scaled.new_zeros(rows, 1)
    weighted = scaled.new_zeros(rows, 1)[::ENTROPY_STRIDE].clone()
    mean_weight = scaled.new_zeros(inputs.shape) if wants_gradient else None
    tile = _tile(rows)
    for start in range(0, len(weight), tile):
        part = weight[start : start + tile]
        logits = inputs @ part.T
        sampled = logits[::ENTROPY_STRIDE].float()
        shares = logits.exp_()
        total += shares.sum(-1, keepdim=True, dtype=total.dtype)
        weighted += (shares[::ENTROPY_STRIDE] * sampled).sum(-1, keepdim=True)
        if mean_weight is not None:
            mean_weight += shares @ part
    entropy = total[::ENTROPY_STRIDE].log() - weighted / total[::ENTROPY_STRIDE]
    mean = None if mean_weight is None else mean_weight[:, :width] / total
    return _Sums(-total.log()[:, 0], entropy[:, 0], mean)


def _with_reference(scaled: Any, targets: Any, weight: Any) -> Any:
    """Return the rows in bfloat16 with the chosen logit, split in three, behind them."""
    width = scaled.shape[1]
    inputs = scaled.new_zeros(len(scaled), weight.shape[1], dtype=weight.dtype)
    inputs[:, :width] = scaled
    rest = (inputs[:, :width].float() * weight[targets, :width].float()).sum(-1)
    for column in range(width, width + _REFERENCE_COLUMNS):
        inputs[:, column] = rest
        rest = rest - inputs[:, column].float()
    return inputs


def _repaired(sums: _Sums, scaled: Any, targets: Any, head: Head) -> _Sums:
    """Do again, exactly, the rows whose sum left the safe range."""
    unsafe = ~(sums.logprobs.neg().exp() < _SAFE_SUM)
    if not bool(unsafe.any()):
        return sums
    wants_gradient = sums.mean_weight is not None
    again = _exact_sums(scaled[unsafe], targets[unsafe], head, wants_gradient)
    sums.logprobs[unsafe] = again.logprobs
    if wants_gradient:
        sums.mean_weight[unsafe] = again.mean_weight
    entropy = torch.nan_to_num(sums.entropy, nan=0.0, posinf=0.0, neginf=0.0)
    return sums._replace(entropy=entropy)


def _tile(rows: int) -> int:
    return min(max(_TILE_ELEMENTS // rows, 1024), 16384)
