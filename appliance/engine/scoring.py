"""Teacher-forced log-probabilities: what the model says about ids that are already chosen.

A fresh sequence of its own, nothing shared with cached prompts: an independent check of what sampling recorded.
Rows of logits are asked for in small pieces, because one row is as wide as the vocabulary.
"""

from __future__ import annotations

import numpy as np

from appliance.engine.llama import MAX_OUTPUTS, N_BATCH, Batch, Context
from appliance.engine.requests import ScoreRequest
from appliance.engine.sampler import Sampler


def score(
    context: Context, batch: Batch, sampler: Sampler, sequence: int, request: ScoreRequest
) -> tuple[float, ...]:
    """One log-probability per completion id; `sequence` must be empty and is empty again afterwards."""
    if not request.completion:
        return ()
    ids = request.prompt + request.completion[:-1]
    first_row = len(request.prompt) - 1
    found: list[float] = []
    for start, stop in _pieces(first_row, len(ids)):
        rows = stop - start if start >= first_row else 0
        batch.clear()
        batch.add(ids[start:stop], start, sequence, rows)
        context.decode(batch)
        if rows:
            targets = np.array(request.completion[start - first_row : stop - first_row], np.int64)
            found += sampler.logprobs(context.logits(), targets, request.temperature).tolist()
    context.drop(sequence)
    return tuple(found)


def _pieces(n_silent: int, n_ids: int) -> list[tuple[int, int]]:
    """Cut positions into decodes: large ones without logits, then small ones with a row per token."""
    silent = [(at, min(at + N_BATCH, n_silent)) for at in range(0, n_silent, N_BATCH)]
    return silent + [(at, min(at + MAX_OUTPUTS, n_ids)) for at in range(n_silent, n_ids, MAX_OUTPUTS)]
