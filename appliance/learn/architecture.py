"""The model families the learner can train, one entry each: names, layouts and the config transformers needs.

A family is supported only when every tensor and every setting of its GGUF has a known meaning here. A leftover
tensor, scaled or partial RoPE, experts or soft-capped logits are refused with a ModelError: the alternative is a
model that loads and is quietly wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from appliance.errors import ModelError
from appliance.learn.header import GgufHeader

_T = TypeVar("_T", int, float)

LINEAR_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""transformers' name inside a layer to GGUF's: the seven matrices that carry LoRA."""

_LLAMA_NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
_GEMMA_NORMS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_HEAD_NORMS = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
_QKV_BIASES = {f"self_attn.{x}_proj.bias": f"attn_{x}.bias" for x in "qkv"}

_GEMMA_LOCAL_ROPE = 10000.0
_NO_WINDOW = 1 << 30
_GEMMA_PATTERN = 6
"""Every sixth layer of Gemma 3 sees the whole context; GGUF files leave it out when it is six."""


@dataclass(frozen=True, slots=True)
class Family:
    """One supported architecture."""

    name: str
    """`general.architecture` in the file."""
    class_name: str
    model_type: str
    permuted: bool
    """Whether GGUF stores the rows of q and k interleaved (NORM-style RoPE)."""
    norm_offset: float
    """What GGUF adds to norm weights."""
    norms: Mapping[str, str]
    biases: Mapping[str, str]
    settings: Callable[[Shape], dict[str, Any]]
    """The part of the config only this family has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that decide the layout of a model."""

    layers: int
    hidden: int
    feed_forward: int
    heads: int
    heads_kv: int
    head_dim: int
    vocabulary: int
    context: int
    rope_base: float
    norm_eps: float
    window: int
    tied: bool


def _llama_settings(_shape: Shape) -> dict[str, Any]:
    return {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False}


def _qwen_settings(_shape: Shape) -> dict[str, Any]:
    return {"hidden_act": "silu", "use_sliding_window": False}


def _gemma3_settings(shape: Shape) -> dict[str, Any]:
    kinds = ("sliding_attention", "full_attention")
    bases = (_GEMMA_LOCAL_ROPE, shape.rope_base)
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": shape.head_dim,
        "sliding_window": shape.window,
        "layer_types": [kinds[(layer + 1) % _GEMMA_PATTERN == 0] for layer in range(shape.layers)],
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": base}
            for kind, base in zip(kinds, bases, strict=True)
        },
    }


FAMILIES = {
    family.name: family
    for family in (
        Family("llama", "LlamaForCausalLM", "llama", True, 0.0, _LLAMA_NORMS, {}, _llama_settings),
        Family("qwen2", "Qwen2ForCausalLM", "qwen2", False, 0.0, _LLAMA_NORMS, _QKV_BIASES, _qwen_settings),
        Family(
            "qwen3", "Qwen3ForCausalLM", "qwen3", False, 0.0, _LLAMA_NORMS | _HEAD_NORMS, {}, _qwen_settings
        ),
        Family(
            "gemma3",
            "Gemma3ForCausalLM",
            "gemma3_text",
            False,
            1.0,
            _GEMMA_NORMS | _HEAD_NORMS,
            {},
            _gemma3_settings,
        ),
    )
}


def family_of(header: GgufHeader) -> Family:
    """Return the family of the file, or refuse it."""
    family = FAMILIES.get(header.architecture)
    if family is None:
        raise ModelError(
            f"{header.path}: general.architecture is {header.architecture!r}, which is not supported",
            remedy=f"use a model of one of: {', '.join(sorted(FAMILIES))}",
        )
    return family


def shape_of(header: GgufHeader) -> Shape:
    """Read the shape from the metadata; refuse what the families here do not cover."""
    family = family_of(header)
    if family.name == "gemma3":
        _refuse(header, "attention.sliding_window_pattern", lambda value: value != _GEMMA_PATTERN)
        # The 27B model scales its queries by another number, which the file does not hold.
        _refuse(header, "block_count", lambda value: value >= 62)
    _refuse(header, "expert_count", bool)
    _refuse(header, "final_logit_softcapping", bool)
    _refuse(header, "attn_logit_softcapping", bool)
    _refuse(header, "rope.scaling.type", lambda value: value not in ("none", ""))
    _refuse(header, "rope.scaling.factor", lambda value: value not in (0.0, 1.0))
    heads, hidden = _number(header, "attention.head_count"), _number(header, "embedding_length")
    head_dim = _number(header, "attention.key_length", hidden // heads)
    _refuse(header, "attention.value_length", lambda value: value != head_dim)
    _refuse(header, "rope.dimension_count", lambda value: value != head_dim)
    return Shape(
        layers=_number(header, "block_count"),
        hidden=hidden,
        feed_forward=_number(header, "feed_forward_length"),
        heads=heads,
        heads_kv=_number(header, "attention.head_count_kv", heads),
        head_dim=head_dim,
        vocabulary=_vocabulary(header),
        context=_number(header, "context_length"),
        rope_base=_real(header, "rope.freq_base", 10000.0),
        norm_eps=_real(header, "attention.layer_norm_rms_epsilon"),
        window=_number(header, "attention.sliding_window", _NO_WINDOW),
        tied="output.weight" not in header.tensors,
    )


def transformers_config(header: GgufHeader) -> dict[str, Any]:
    """Return `config.json` for this file."""
    family, shape = family_of(header), shape_of(header)
    common: dict[str, Any] = {
        "architectures": [family.class_name],
        "model_type": family.model_type,
        "dtype": "float32",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads_kv,
        "head_dim": shape.head_dim,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.norm_eps,
        "tie_word_embeddings": shape.tied,
        "attention_dropout": 0.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_base},
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }
    return common | family.settings(shape)


def tensor_names(header: GgufHeader) -> dict[str, str]:
    """Return GGUF name to transformers name for every tensor of the file; refuse missing and unknown ones."""
    family, shape = family_of(header), shape_of(header)
    names = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    if not shape.tied:
        names["output.weight"] = "lm_head.weight"
    inner = {
        f"{ours}.weight": f"{theirs}.weight" for theirs, ours in {**LINEAR_NAMES, **family.norms}.items()
    }
    inner |= {ours: theirs for theirs, ours in family.biases.items()}
    for layer in range(shape.layers):
        names |= {f"blk.{layer}.{ours}": f"model.layers.{layer}.{theirs}" for ours, theirs in inner.items()}
    _compare(header, names)
    return names


def _compare(header: GgufHeader, names: Mapping[str, str]) -> None:
    if missing := sorted(names.keys() - header.tensors.keys()):
        raise _unsupported(header, f"tensor {missing[0]} is missing")
    if unknown := sorted(header.tensors.keys() - names.keys()):
        raise _unsupported(header, f"tensor {unknown[0]} has no meaning in a {header.architecture} model")


def _vocabulary(header: GgufHeader) -> int:
    entry = header.tensors.get("token_embd.weight")
    if entry is None or len(entry.shape) != 2:
        raise _unsupported(header, "tensor token_embd.weight is missing")
    return entry.shape[0]


def _refuse(header: GgufHeader, name: str, bad: Callable[[Any], bool]) -> None:
    key = f"{header.architecture}.{name}"
    if key in header.metadata and bad(header.metadata[key]):
        raise _unsupported(header, f"{key} = {header.metadata[key]!r} is not supported")


def _number(header: GgufHeader, name: str, default: int | None = None) -> int:
    return _checked(header, name, int, default)


def _real(header: GgufHeader, name: str, default: float | None = None) -> float:
    return _checked(header, name, float, default)


def _checked(header: GgufHeader, name: str, kind: type[_T], default: _T | None) -> _T:
    key = f"{header.architecture}.{name}"
    value = header.metadata.get(key, default)
    if value is None:
        raise _unsupported(header, f"{key} is missing")
    if not isinstance(value, kind) or value <= 0:
        raise _unsupported(header, f"{key} = {value!r} is not a positive {kind.__name__}")
    return value


def _unsupported(header: GgufHeader, what: str) -> ModelError:
    return ModelError(
        f"{header.path}: {what}", remedy="use another model file of a supported family, or convert it again"
    )


def interleave(rows: Any, heads: int) -> Any:
    """Put the rows of a q or k matrix (numpy or torch) into the order of NORM-style RoPE, as GGUF stores them."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def undo_interleave(rows: Any, heads: int) -> Any:
    """The inverse of `interleave`."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
