"""The forward pass and the fused log-probability against independent implementations.

transformers is the reference for the layers, plain autograd in float64 for everything that was made faster by hand.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from appliance.learn.logprob import Head, fast_copy, score_rows
from appliance.learn.lora import new_adapter
from appliance.learn.model import Model, hidden_states, layout_of, linear_names, read_config, read_weights
from appliance.learn.packing import completion_rows, plan
from appliance.learn.settings import LoraSettings
from appliance.nouns import Sample

SHAPE: dict[str, Any] = {
    "vocab_size": 71,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
}
FAMILIES: dict[str, Any] = {
    "llama": lambda: transformers.LlamaConfig(**SHAPE, num_hidden_layers=2, head_dim=8),
    "qwen2": lambda: transformers.Qwen2Config(**SHAPE, num_hidden_layers=2),
    "qwen3": lambda: transformers.Qwen3Config(**SHAPE, num_hidden_layers=2, head_dim=16),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **SHAPE, num_hidden_layers=7, head_dim=16, sliding_window=9, query_pre_attn_scalar=16
    ),
}


def random_model(name: str, folder: Path, seed: int = 0) -> tuple[Any, Model]:
    """A transformers model with random weights, biases and norms, and ours read from its checkpoint."""
    torch.manual_seed(seed)
    reference = transformers.AutoModelForCausalLM.from_config(
        FAMILIES[name](), dtype=torch.float32, attn_implementation="eager"
    )
    with torch.no_grad():
        for key, values in reference.named_parameters():
            if "norm" in key or "bias" in key:
                values.add_(torch.randn_like(values) * 0.3)
    reference.save_pretrained(folder)
    config = read_config(folder)
    weights = {
        key: values.double() for key, values in read_weights(folder, config, "cpu", torch.float32).items()
    }
    lora = LoraSettings(rank=3, alpha=5.0)
    adapter = {
        key: values.detach().double().requires_grad_()
        for key, values in new_adapter(config, weights, lora, seed).items()
    }
    return reference.double().eval(), Model(config, weights, adapter, lora.alpha / lora.rank)


def with_random_adapter(model: Model, seed: int = 1) -> Model:
    """The same model with B no longer zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in model.adapter.values():
            noise = torch.randn(values.shape, generator=generator, dtype=values.dtype)
            values.copy_(noise * 0.2)
    return model


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_layers_equal_transformers(name: str, tmp_path: Path) -> None:
    reference, model = random_model(name, tmp_path)
    ids = torch.randint(0, 71, (40,)).tolist()
    with torch.no_grad():
        wanted = reference(torch.tensor([ids])).logits[0]
        found = hidden_states(model, layout_of(model.config, [(ids, [])], "cpu")) @ model.head.T
    # transformers computes RoPE angles and norms in float32 even for float64 weights.
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_shared_prompt_equals_separate_sequences(name: str, tmp_path: Path) -> None:
    """Two packs side by side, prompt and completions longer than Gemma's window, against one sequence at a time."""
    _, model = random_model(name, tmp_path)
    with_random_adapter(model)
    packs = [
        (list(range(5, 25)), [[7, 3, 9], [1] * 14, [2], []]),
        ([4, 4, 8], [[60, 61], [62]]),
    ]
    packed = hidden_states(model, layout_of(model.config, packs, "cpu"))
    row = 0
    for prompt, continuations in packs:
        row += len(prompt)
        for continuation in continuations:
            alone = hidden_states(model, layout_of(model.config, [([*prompt, *continuation], [])], "cpu"))
            torch.testing.assert_close(
                packed[row : row + len(continuation)], alone[len(prompt) :], atol=1e-10, rtol=1e-10
            )
            row += len(continuation)
    assert row == len(packed)


def plain_loss(model: Model, samples: list[Sample], weights: list[float]) -> Any:
    """Σ weight · log p by whole-sequence forward passes and full logits."""
    total: Any = 0.0
    for sample, weight in zip(samples, weights, strict=True):
        ids = [*sample.prompt_ids, *sample.completion_ids]
        hidden = hidden_states(model, layout_of(model.config, [(ids, [])], "cpu"))
        logprobs = ((hidden @ model.head.T) / 0.7).log_softmax(-1)
        for position in range(len(sample.prompt_ids), len(ids)):
            total = total + weight * logprobs[position - 1, ids[position]]
    return total


def test_shared_prompts_and_fused_rows_give_the_plain_gradient(tmp_path: Path) -> None:
    _, model = random_model("llama", tmp_path)
    with_random_adapter(model)
    samples = [
        sample((5, 6, 7), (8, 9)),
        sample((5, 6, 7), (1,)),
        sample((2,), (3, 3, 3, 3)),
        sample((2,), (9,)),
    ]
    weights = [0.5, -1.0, 2.0, 0.25]
    plain_loss(model, samples, weights).backward()
    wanted = {name: values.grad.clone() for name, values in model.adapter.items()}
    for budget in (1, 3, 1000):
        for values in model.adapter.values():
            values.grad = None
        for packs in plan(samples, budget):
            rows = completion_rows(model, samples, packs)
            scored = score_rows(rows.hidden, rows.targets, Head(model.head, temperature=0.7))
            each = [weights[owner] for owner in rows.owners for _ in samples[owner].completion_ids]
            (torch.tensor(each) * scored.logprobs).sum().backward()
        for name, values in model.adapter.items():
            torch.testing.assert_close(values.grad, wanted[name], atol=1e-10, rtol=1e-7)


def test_a_plan_holds_every_sample_once_and_keeps_to_its_budget() -> None:
    samples = [sample((i % 3,), (1,) * (i % 7 + 1)) for i in range(40)]
    batches = plan(samples, 12)
    assert sorted(member for packs in batches for pack in packs for member in pack.members) == list(range(40))
    for packs in batches:
        assert sum(len(samples[member].completion_ids) for pack in packs for member in pack.members) <= 12
        for pack in packs:
            assert {samples[member].prompt_ids for member in pack.members} == {pack.prompt_ids}


def sample(prompt: tuple[int, ...], completion: tuple[int, ...]) -> Sample:
    return Sample("a", prompt, completion, (-1.0,) * len(completion), 1.0, "v")


def head_case(rows: int = 37, vocabulary: int = 5003, width: int = 24) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(4)
    weight = torch.randn(vocabulary, width, generator=generator, dtype=torch.float64) * 0.7
    hidden = torch.randn(rows, width, generator=generator, dtype=torch.float64) * 1.5
    targets = torch.randint(0, vocabulary, (rows,), generator=generator)
    return hidden, targets, weight


def plain(hidden: Any, targets: Any, weight: Any, temperature: float) -> tuple[Any, Any]:
    logprobs = ((hidden @ weight.T) / temperature).log_softmax(-1)
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(1, targets[:, None])[:, 0], entropy


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_the_fused_logprob_equals_plain_autograd(temperature: float) -> None:
    hidden, targets, weight = head_case()
    ours, theirs = hidden.clone().requires_grad_(), hidden.clone().requires_grad_()
    found = score_rows(ours, targets, Head(weight, temperature))
    wanted, entropy = plain(theirs, targets, weight, temperature)
    torch.testing.assert_close(found.logprobs, wanted, atol=1e-9, rtol=0)
    torch.testing.assert_close(found.entropy, entropy[::8], atol=1e-9, rtol=0)
    coefficients = torch.linspace(-2, 3, len(targets), dtype=torch.float64)
    (coefficients * found.logprobs).sum().backward()
    (coefficients * wanted).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-7, rtol=0)


def test_the_fast_logprob_is_as_exact_as_bfloat16_inputs_allow() -> None:
    """Against float32 on inputs already rounded to bfloat16. Logits reach 20, where a bfloat16 logit alone may be
    off by 0.06. What is rounded here is the distance to the chosen logit, to 8 bits: at most 0.4 % of it."""
    hidden, targets, weight = head_case()
    weight = weight.bfloat16().float()
    hidden = hidden.bfloat16().float()
    targets = (hidden @ weight.T).topk(5).indices[:, 2]
    assert (hidden @ weight.T).max() > 16
    ours, theirs = hidden.clone().requires_grad_(), hidden.clone().requires_grad_()
    found = score_rows(ours, targets, Head(weight, 1.0, fast_copy(weight)))
    wanted, entropy = plain(theirs, targets, weight, 1.0)
    assert ((found.logprobs - wanted).abs() / wanted.abs()).max() < 0.004
    assert (found.entropy - entropy[::8]).abs().max() < 0.05
    found.logprobs.sum().backward()
    wanted.sum().backward()
    assert (ours.grad - theirs.grad).norm() < 0.01 * theirs.grad.norm()


def test_the_fast_logprob_survives_hopeless_tokens() -> None:
    """The worst token of every row lies over 100 nats down: the fast sum overflows and the row is done exactly."""
    hidden, _, weight = head_case()
    hidden, weight = hidden.float() * 4, weight.float()
    targets = (hidden @ weight.T).argmin(-1)
    wanted, _ = plain(hidden, targets, weight, 1.0)
    assert wanted.min() < -100
    found = score_rows(hidden.clone().requires_grad_(), targets, Head(weight, 1.0, fast_copy(weight)))
    assert torch.isfinite(found.entropy).all()
    torch.testing.assert_close(found.logprobs, wanted, atol=0.5, rtol=0)


def test_the_fast_backward_pass_points_the_same_way(tmp_path: Path) -> None:
    _, model = random_model("gemma3", tmp_path)
    with_random_adapter(model)
    single = dataclasses.replace(
        model,
        weights={name: values.float() for name, values in model.weights.items()},
        adapter={name: values.detach().float().requires_grad_() for name, values in model.adapter.items()},
    )
    copies = {name: single.weights[f"{name}.weight"].bfloat16() for name in linear_names(model.config)}
    gradients = []
    for variant in (single, dataclasses.replace(single, fast=copies)):
        for values in variant.adapter.values():
            values.grad = None
        hidden_states(variant, layout_of(model.config, [([1, 2, 3, 4], [[5, 6]])], "cpu")).sum().backward()
        gradients.append(torch.cat([values.grad.flatten() for values in variant.adapter.values()]))
    exact, fast = gradients
    assert 0 < (exact - fast).norm() < 0.02 * exact.norm()


def test_a_bfloat16_base_with_float32_adapter(tmp_path: Path) -> None:
    """What runs on CUDA, tried on the CPU: a bfloat16 body is coarse, but it is the same policy."""
    _, model = random_model("qwen3", tmp_path)
    with_random_adapter(model)
    config = model.config
    halved = dataclasses.replace(
        model,
        weights=read_weights(tmp_path, config, "cpu", torch.bfloat16),
        adapter={name: values.detach().float().requires_grad_() for name, values in model.adapter.items()},
    )
    samples = [sample((5, 6, 7), (8, 9, 10, 3)), sample((5, 6, 7), (1, 2)), sample((2,), (3, 3, 3, 3))]
    (packs,) = plan(samples, 100)
    logprobs, gradients = [], []
    for variant, copy in ((model, None), (halved, fast_copy(halved.head))):
        rows = completion_rows(variant, samples, packs)
        scored = score_rows(rows.hidden, rows.targets, Head(variant.head, 1.0, copy))
        scored.logprobs.sum().backward()
        logprobs.append(scored.logprobs.detach().double())
        gradients.append(torch.cat([v.grad.flatten().double() for v in variant.adapter.values()]))
    assert halved.weights["model.layers.0.mlp.up_proj.weight"].dtype == torch.bfloat16
    assert 0 < (logprobs[0] - logprobs[1]).abs().mean() < 0.2
    assert torch.cosine_similarity(*gradients, dim=0) > 0.98


def test_hand_written_gradients_equal_numerical_ones(tmp_path: Path) -> None:
    """The three operations with a backward pass of their own, inside a whole model with a sliding window."""
    _, model = random_model("gemma3", tmp_path)
    with_random_adapter(model)
    layout = layout_of(model.config, [([1, 2, 3], [[4, 5, 6, 7, 8, 9, 10, 11], [4]])], "cpu")
    generator = torch.Generator().manual_seed(2)
    probe = torch.randn(12, model.config.hidden, generator=generator, dtype=torch.float64)

    def value() -> Any:
        return (hidden_states(model, layout) * probe).sum()

    value().backward()
    for name in model.adapter:
        values = model.adapter[name]
        direction = torch.randn(values.shape, generator=generator, dtype=torch.float64)
        ends = []
        with torch.no_grad():
            for move in (1e-5, -2e-5):
                values += move * direction
                ends.append(float(value()))
            values += 1e-5 * direction
        slope = (ends[0] - ends[1]) / 2e-5
        # The RoPE table is float64 here, but sums of seven random layers leave about seven digits.
        assert float((values.grad * direction).sum()) == pytest.approx(slope, rel=1e-4, abs=1e-4), name
