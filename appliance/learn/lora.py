"""The start of an adapter: LoRA on the seven linear maps of every layer, W·x + (alpha / rank)·B(A·x).

A and B are float32 whatever the base is, B starts at zero, so a new adapter changes nothing. There is no dropout,
no bias and no adapter on embeddings or head: llama.cpp cannot carry those. The exported folder is loaded with peft
in a test and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from appliance.learn.model import Config, linear_names
from appliance.learn.settings import LoraSettings


def new_adapter(
    config: Config, weights: Mapping[str, Any], settings: LoraSettings, seed: int
) -> dict[str, Any]:
    """Return the trainable tensors by name. The same seed gives the same start on every device."""
    generator = torch.Generator().manual_seed(seed)
    adapter = {}
    for name in linear_names(config):
        weight = weights[f"{name}.weight"]
        outputs, inputs = weight.shape
        limit = inputs**-0.5
        down = torch.empty(settings.rank, inputs).uniform_(-limit, limit, generator=generator)
        adapter[f"{name}.lora_a"] = down.to(weight.device).requires_grad_()
        adapter[f"{name}.lora_b"] = torch.zeros(outputs, settings.rank, device=weight.device).requires_grad_()
    return adapter
