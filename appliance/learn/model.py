"""The decoder itself: embeddings to final hidden states over packed rows, with LoRA on every linear map.

One flat list of rows holds several packs; linear maps and norms run over all rows at once, attention runs per
segment under the segment's own mask. There is no padding, and a prompt shared by many completions is computed once.
Four families are covered by five switches (head norms, biases, activation, post norms, two RoPE bases);
transformers' own implementations are the reference in the tests, and the engine is the reference in use.
Written here because transformers' forward pass cannot pack, and took half as long again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from appliance.learn.architecture import LINEAR_NAMES

FULL = "full_attention"
SLIDING = "sliding_attention"

_GEMMA = "gemma3_text"
_CHUNK_ROWS = 64


@dataclass(frozen=True, slots=True)
class Config:
    """What the forward pass needs of `config.json`."""

    model_type: str
    layers: int
    hidden: int
    heads: int
    heads_kv: int
    head_dim: int
    vocabulary: int
    norm_eps: float
    tied: bool
    layer_types: tuple[str, ...]
    rope_bases: Mapping[str, float]
    window: int | None

    @property
    def embed_scale(self) -> float:
        return float(self.hidden**0.5) if self.model_type == _GEMMA else 1.0

    @property
    def norm_offset(self) -> float:
        return 1.0 if self.model_type == _GEMMA else 0.0


class Segment(NamedTuple):
    """Consecutive rows that attend together: a prompt, or a few continuations of one."""

    rows: int
    prompt: int | None
    """Number of the segment whose keys come first; None for a prompt."""
    masks: Mapping[str, Any]
    """Attention kind to an additive mask of rows × keys."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of one forward pass."""

    ids: Any
    positions: Any
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A frozen base and its trainable adapter."""

    config: Config
    weights: Mapping[str, Any]
    """By transformers' names; norm weights already hold Gemma's offset."""
    adapter: Mapping[str, Any]
    """`<linear name>.lora_a` and `.lora_b`, float32."""
    scale: float
    """alpha / rank."""
    fast: Mapping[str, Any] = field(default_factory=dict)
    """bfloat16 copies of the linear maps for the backward pass; empty keeps it exact."""

    @property
    def head(self) -> Any:
        return self.weights["model.embed_tokens.weight" if self.config.tied else "lm_head.weight"]

    @property
    def device(self) -> Any:
        return self.head.device


def read_config(folder: Path) -> Config:
    """Read `config.json` of a prepared base or of any transformers checkpoint of a supported family."""
    raw = json.loads((folder / "config.json").read_text())
    rope = raw["rope_parameters"]
    layers = raw["num_hidden_layers"]
    kinds = raw["layer_types"] if raw["model_type"] == _GEMMA else [FULL] * layers
    bases = {kind: rope.get(kind, rope)["rope_theta"] for kind in set(kinds)}
    return Config(
        model_type=raw["model_type"],
        layers=layers,
        hidden=raw["hidden_size"],
        heads=raw["num_attention_heads"],
        heads_kv=raw["num_key_value_heads"],
        head_dim=raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"],
        vocabulary=raw["vocab_size"],
        norm_eps=raw["rms_norm_eps"],
        tied=raw["tie_word_embeddings"],
        layer_types=tuple(kinds),
        rope_bases=bases,
        window=raw["sliding_window"] if SLIDING in kinds else None,
    )


def read_weights(folder: Path, config: Config, device: str, dtype: Any) -> dict[str, Any]:
    """Load the frozen weights onto the device; norm weights stay float32."""
    weights: dict[str, Any] = load_file(folder / "model.safetensors", device=device)
    for name, values in weights.items():
        if name.endswith("norm.weight"):
            weights[name] = values.float() + config.norm_offset
        else:
            weights[name] = values.to(dtype)
    return weights


def linear_names(config: Config) -> list[str]:
    """Return the names of the maps that carry LoRA, in a fixed order."""
    return [f"model.layers.{layer}.{name}" for layer in range(config.layers) for name in LINEAR_NAMES]


def layout_of(
    config: Config, packs: Sequence[tuple[Sequence[int], Sequence[Sequence[int]]]], device: Any
) -> Layout:
    """Lay out packs of one prompt and its continuations, in order."""
    ids: list[int] = []
    positions: list[int] = []
    segments: list[Segment] = []
    for prompt, continuations in packs:
        home = len(segments)
        ids.extend(prompt)
        positions.extend(range(len(prompt)))
        segments.append(_segment(config, None, len(prompt), [], device))
        for chunk in _chunks([continuation for continuation in continuations if continuation]):
            for continuation in chunk:
                ids.extend(continuation)
                positions.extend(range(len(prompt), len(prompt) + len(continuation)))
            lengths = [len(continuation) for continuation in chunk]
            segments.append(_segment(config, home, len(prompt), lengths, device))
    return Layout(torch.tensor(ids, device=device), torch.tensor(positions, device=device), tuple(segments))


def hidden_states(model: Model, layout: Layout) -> Any:
    """Return the final, normed hidden state of every row."""
    config = model.config
    embeddings = F.embedding(layout.ids, model.weights["model.embed_tokens.weight"])
    stream = embeddings * config.embed_scale
    ropes = {kind: _rope(config, kind, layout.positions, stream.dtype) for kind in config.rope_bases}
    for layer in range(config.layers):
        kind = config.layer_types[layer]
        block = _Block(model, f"model.layers.{layer}.")
        stream = stream + block.attention(stream, layout, kind, ropes[kind])
        stream = stream + block.feed_forward(stream)
    return _normed(stream, model.weights["model.norm.weight"], config)


class _Block(NamedTuple):
    """One layer's view of the model."""

    model: Model
    prefix: str

    def attention(self, stream: Any, layout: Layout, kind: str, rope: tuple[Any, Any]) -> Any:
        config = self.model.config
        inputs = self.norm(stream, "input_layernorm")
        heads = (len(stream), -1, config.head_dim)
        queries = self.head_norm(self.linear(inputs, "self_attn.q_proj").view(heads), "self_attn.q_norm")
        keys = self.head_norm(self.linear(inputs, "self_attn.k_proj").view(heads), "self_attn.k_norm")
        values = self.linear(inputs, "self_attn.v_proj").view(heads)
        mixed = _attend(config, _rotated(queries, rope), _rotated(keys, rope), values, layout, kind)
        return self.post_norm(self.linear(mixed, "self_attn.o_proj"), "post_attention_layernorm")

    def feed_forward(self, stream: Any) -> Any:
        gemma = self.model.config.model_type == _GEMMA
        inputs = self.norm(stream, "pre_feedforward_layernorm" if gemma else "post_attention_layernorm")
        gate = self.linear(inputs, "mlp.gate_proj")
        gate = F.gelu(gate, approximate="tanh") if gemma else F.silu(gate)
        outputs = self.linear(gate * self.linear(inputs, "mlp.up_proj"), "mlp.down_proj")
        return self.post_norm(outputs, "post_feedforward_layernorm")

    def linear(self, inputs: Any, name: str) -> Any:
        model, name = self.model, self.prefix + name
        frozen = _Frozen(
            model.weights[f"{name}.weight"], model.weights.get(f"{name}.bias"), model.fast.get(name)
        )
        down, up = model.adapter[f"{name}.lora_a"], model.adapter[f"{name}.lora_b"]
        return _LoraLinear.apply(inputs, down, up, frozen, model.scale)

    def norm(self, inputs: Any, name: str) -> Any:
        return _normed(inputs, self.model.weights[f"{self.prefix}{name}.weight"], self.model.config)

    def head_norm(self, inputs: Any, name: str) -> Any:
        weight = self.model.weights.get(f"{self.prefix}{name}.weight")
        return inputs if weight is None else _normed(inputs, weight, self.model.config)

    def post_norm(self, outputs: Any, name: str) -> Any:
        """Gemma norms what a sublayer returns; the others do not."""
        return self.norm(outputs, name) if self.model.config.model_type == _GEMMA else outputs


def _normed(inputs: Any, weight: Any, config: Config) -> Any:
    return _RmsNorm.apply(inputs, weight, config.norm_eps)


class _Frozen(NamedTuple):
    """The part of a linear map that is not trained."""

    weight: Any
    bias: Any
    fast: Any
    """bfloat16 copy for the backward pass, or None."""


class _LoraLinear(torch.autograd.Function):  # type: ignore[misc]
    """W·x + bias + scale · B(A·x) as one operation: autograd would write and add every large tensor twice."""

    @staticmethod
    def forward(ctx: Any, inputs: Any, down: Any, up: Any, frozen: _Frozen, scale: float) -> Any:
        outputs = F.linear(inputs, frozen.weight, frozen.bias)
        low = (inputs.to(down.dtype) @ down.T).mul_(scale)
        ctx.frozen, ctx.scale = frozen, scale
        ctx.save_for_backward(inputs, down, up, low)
        return _added(outputs, low, up.T)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, Any, Any, None, None]:
        inputs, down, up, low = ctx.saved_tensors
        weight = ctx.frozen.weight if ctx.frozen.fast is None else ctx.frozen.fast
        wide = gradient.to(up.dtype)
        grad_low = (wide @ up).mul_(ctx.scale)
        grad_inputs = None
        if ctx.needs_input_grad[0]:
            grad_inputs = _added((gradient.to(weight.dtype) @ weight).to(gradient.dtype), grad_low, down)
        return grad_inputs, grad_low.T @ inputs.to(down.dtype), wide.T @ low, None, None


def _added(total: Any, left: Any, right: Any) -> Any:
    """Add a product to `total` in place."""
    if total.dtype == left.dtype:
        return total.addmm_(left, right)
    return total.add_(left @ right)


class _Rotation(torch.autograd.Function):  # type: ignore[misc]
    """RoPE: the halves of a head turn by the row's angle; the gradient turns back."""

    @staticmethod
    def forward(ctx: Any, inputs: Any, cosine: Any, sine: Any) -> Any:
        ctx.save_for_backward(cosine, sine)
        return _turned(inputs, cosine, sine)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
        cosine, sine = ctx.saved_tensors
        return _turned(gradient, cosine, -sine), None, None


def _turned(inputs: Any, cosine: Any, sine: Any) -> Any:
    half = inputs.shape[-1] // 2
    first, second = inputs[..., :half], inputs[..., half:]
    outputs = torch.empty_like(inputs)
    torch.mul(first, cosine, out=outputs[..., :half]).addcmul_(second, sine, value=-1)
    torch.mul(second, cosine, out=outputs[..., half:]).addcmul_(first, sine)
    return outputs


class _RmsNorm(torch.autograd.Function):  # type: ignore[misc]
    """Root-mean-square norm with a frozen weight: two passes backwards where torch's own takes eight."""

    @staticmethod
    def forward(ctx: Any, inputs: Any, weight: Any, eps: float) -> Any:
        wide = inputs.to(torch.promote_types(inputs.dtype, torch.float32))
        inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
        normed = wide * inverse
        ctx.save_for_backward(normed, inverse, weight)
        return (normed * weight).to(inputs.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
        normed, inverse, weight = ctx.saved_tensors
        scaled = gradient * weight
        along = (scaled * normed).mean(-1, keepdim=True)
        return ((scaled - normed * along) * inverse).to(gradient.dtype), None, None


def _chunks(continuations: Sequence[Sequence[int]]) -> list[list[Sequence[int]]]:
    """Put short continuations together: fewer calls, at the price of scores that are masked away."""
    chunks: list[list[Sequence[int]]] = []
    room = 0
    for continuation in continuations:
        if not chunks or room < len(continuation):
            chunks.append([])
            room = _CHUNK_ROWS
        chunks[-1].append(continuation)
        room -= len(continuation)
    return chunks


def _segment(config: Config, home: int | None, prompt: int, lengths: Sequence[int], device: Any) -> Segment:
    """A row sees earlier rows of the prompt and of its own continuation, within the window if there is one."""
    branches = torch.tensor([-1] * prompt + [n for n, length in enumerate(lengths) for _ in range(length)])
    places = [*range(prompt), *(prompt + place for length in lengths for place in range(length))]
    rows = prompt if home is None else sum(lengths)
    keys, order = torch.tensor(places), torch.arange(len(places))
    seen = order <= order[-rows:, None]
    seen &= (branches < 0) | (branches == branches[-rows:, None])
    masks = {}
    for kind in config.rope_bases:
        visible = seen if kind == FULL else seen & (keys[-rows:, None] - keys < config.window)
        masks[kind] = torch.zeros(seen.shape).masked_fill_(~visible, -torch.inf).to(device)
    return Segment(rows, home, masks)


def _rope(config: Config, kind: str, positions: Any, dtype: Any) -> tuple[Any, Any]:
    wide = torch.promote_types(dtype, torch.float32)
    exponents = torch.arange(0, config.head_dim, 2, dtype=wide, device=positions.device) / config.head_dim
    angles = positions[:, None].to(wide) * (config.rope_bases[kind] ** -exponents)
    return angles.cos().to(dtype)[:, None], angles.sin().to(dtype)[:, None]


def _rotated(inputs: Any, rope: tuple[Any, Any]) -> Any:
    return _Rotation.apply(inputs, *rope)


def _attend(config: Config, queries: Any, keys: Any, values: Any, layout: Layout, kind: str) -> Any:
    """Attention, segment by segment; returns rows × (heads · head_dim)."""
    sizes = [segment.rows for segment in layout.segments]
    # Split, not sliced: the gradient of a slice is a tensor of full size, once for every slice.
    query_parts, key_parts, value_parts = (part.split(sizes) for part in (queries, keys, values))
    outputs = []
    for number, segment in enumerate(layout.segments):
        key, value = key_parts[number], value_parts[number]
        if segment.prompt is not None:
            key = torch.cat([key_parts[segment.prompt], key])
            value = torch.cat([value_parts[segment.prompt], value])
        query, key, value = (part.transpose(0, 1)[None] for part in (query_parts[number], key, value))
        mask = segment.masks[kind].to(query.dtype)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
        outputs.append(mixed[0].transpose(0, 1).flatten(1))
    return torch.cat(outputs)
