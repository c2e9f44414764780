"""Which samples share a forward pass, and which rows of it predict their tokens.

Samples with the same prompt form a pack. Batches are filled with packs up to the token budget, so memory follows the
budget and not the size of the update; a pack over the budget is cut, and its prompt is run again. The order depends
on the samples alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from appliance.learn.model import Model, hidden_states, layout_of
from appliance.nouns import Sample


@dataclass(frozen=True, slots=True)
class Pack:
    """Samples of one prompt."""

    prompt_ids: tuple[int, ...]
    members: tuple[int, ...]
    """Positions in the list of samples."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What the head needs: one hidden row per completion token, and which token it predicts."""

    hidden: Any
    targets: Any
    owners: tuple[int, ...]
    """The samples in the order of their rows; each contributes all its completion tokens."""


def plan(samples: Sequence[Sample], budget: int) -> list[list[Pack]]:
    """Split the samples into batches of packs of at most about `budget` completion tokens each."""
    batches: list[list[Pack]] = []
    room = 0
    for prompt_ids, members in _by_prompt(samples).items():
        for portion in _portions(samples, members, budget):
            size = sum(len(samples[member].completion_ids) for member in portion)
            if not batches or size > room:
                batches.append([])
                room = budget
            batches[-1].append(Pack(prompt_ids, portion))
            room -= size
    return batches


def completion_rows(model: Model, samples: Sequence[Sample], packs: Sequence[Pack]) -> Rows:
    """Run the layers for a batch of packs."""
    # The last completion token predicts nothing, so it is never fed.
    fed = [(pack.prompt_ids, [samples[i].completion_ids[:-1] for i in pack.members]) for pack in packs]
    hidden = hidden_states(model, layout_of(model.config, fed, model.device))
    places: list[int] = []
    start = 0
    for prompt, continuations in fed:
        start += len(prompt)
        last_of_prompt = start - 1
        for continuation in continuations:
            # The first completion token is predicted by the last prompt token.
            places += [last_of_prompt, *range(start, start + len(continuation))]
            start += len(continuation)
    owners = tuple(member for pack in packs for member in pack.members)
    targets = [token for owner in owners for token in samples[owner].completion_ids]
    index = torch.tensor(places, device=model.device)
    return Rows(hidden.index_select(0, index), torch.tensor(targets, device=model.device), owners)


def _by_prompt(samples: Sequence[Sample]) -> dict[tuple[int, ...], list[int]]:
    members: dict[tuple[int, ...], list[int]] = {}
    for position, sample in enumerate(samples):
        members.setdefault(sample.prompt_ids, []).append(position)
    return members


def _portions(samples: Sequence[Sample], members: Sequence[int], budget: int) -> list[tuple[int, ...]]:
    portions: list[list[int]] = [[]]
    room = budget
    for member in members:
        size = len(samples[member].completion_ids)
        if portions[-1] and size > room:
            portions.append([])
            room = budget
        portions[-1].append(member)
        room -= size
    return [tuple(portion) for portion in portions]
