"""A tiny random language model written as a GGUF on the spot, for tests of the whole loop.

Llama architecture, byte-level vocabulary (token id = byte value, then begin and end of text), two layers,
grouped-query attention, F32, separate output matrix, about 0.4 million parameters. With `digit_bias` the
model prefers ASCII digits and newline whatever the context, so that one-token digit tasks can be tried and
learnt: residual channel 0 holds a constant that no layer writes to, and only the rows of those bytes read it.
It speaks no language and is never a stand-in for a real model outside tests and self-checks.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

N_EMBD = 128
N_LAYER = 2
N_HEAD = 4
N_HEAD_KV = 2
N_FF = 256
N_CTX_TRAIN = 4096
BOS = 256
EOS = 257
N_VOCAB = 258
FAVOURED_BYTES = b"0123456789\n"

_Array = npt.NDArray[np.float32]

_LOGIT_SPREAD = 1.5
"""Standard deviation of the logits over the vocabulary of the plain model."""
_BIASED_LOGIT_SPREAD = 0.35
"""The same with `digit_bias`: small, so that the ten digits start out nearly equally likely."""
_CONSTANT = 6.0
"""What every embedding holds in the channel that no layer writes to."""


def write_tiny_model(path: Path, seed: int = 0, *, digit_bias: float = 0.0) -> None:
    """Write the model to `path`; the same arguments give the same bytes.

    `digit_bias` is about how much the logits of digits and newline are raised; 7 gives each about 9 %.
    """
    writer = gguf.GGUFWriter(path, "llama")
    _add_shape(writer)
    _add_vocabulary(writer)
    for name, values in _weights(seed, digit_bias).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def byte_tokens() -> list[str]:
    """The 256 printable stand-ins of the GPT-2 byte vocabulary, in byte order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [value for value in range(256) if value not in printable]
    letters = {value: chr(value) for value in printable} | {
        value: chr(256 + position) for position, value in enumerate(hidden)
    }
    return [letters[value] for value in range(256)]


def _add_shape(writer: gguf.GGUFWriter) -> None:
    writer.add_name("tiny")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(N_VOCAB)
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(N_HEAD_KV)
    writer.add_rope_dimension_count(N_EMBD // N_HEAD)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = [*byte_tokens(), "<|begin|>", "<|end|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * 2)
    # llama.cpp insists on merges; this pair never occurs in UTF-8 text, so every token stays one byte.
    writer.add_token_merges([f"{tokens[0xFF]} {tokens[0xFE]}"])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_add_bos_token(True)


def _weights(seed: int, digit_bias: float) -> dict[str, _Array]:
    random = np.random.Generator(np.random.PCG64(seed))
    weights = {
        "token_embd.weight": _matrix(random, N_VOCAB, N_EMBD, 1.0),
        "output_norm.weight": np.ones(N_EMBD, np.float32),
        "output.weight": _matrix(random, N_VOCAB, N_EMBD, _LOGIT_SPREAD / N_EMBD**0.5),
    }
    for layer in range(N_LAYER):
        weights |= _layer(random, f"blk.{layer}.")
    if digit_bias:
        _favour_digits(weights, digit_bias)
    return weights


def _layer(random: np.random.Generator, prefix: str) -> dict[str, _Array]:
    n_kv = N_EMBD // N_HEAD * N_HEAD_KV
    inner = N_EMBD**-0.5
    return {
        f"{prefix}attn_norm.weight": np.ones(N_EMBD, np.float32),
        # Above the usual scale: attention must be far from uniform, or a wrong q/k layout would not show.
        f"{prefix}attn_q.weight": _matrix(random, N_EMBD, N_EMBD, 1.4 * inner),
        f"{prefix}attn_k.weight": _matrix(random, n_kv, N_EMBD, 1.4 * inner),
        f"{prefix}attn_v.weight": _matrix(random, n_kv, N_EMBD, inner),
        f"{prefix}attn_output.weight": _matrix(random, N_EMBD, N_EMBD, inner),
        f"{prefix}ffn_norm.weight": np.ones(N_EMBD, np.float32),
        f"{prefix}ffn_gate.weight": _matrix(random, N_FF, N_EMBD, inner),
        f"{prefix}ffn_up.weight": _matrix(random, N_FF, N_EMBD, inner),
        f"{prefix}ffn_down.weight": _matrix(random, N_EMBD, N_FF, N_FF**-0.5),
    }


def _matrix(random: np.random.Generator, rows: int, columns: int, spread: float) -> _Array:
    return (random.standard_normal((rows, columns)) * spread).astype(np.float32)


def _favour_digits(weights: dict[str, _Array], digit_bias: float) -> None:
    """Make channel 0 of the residual stream a constant and let the favoured rows of the output read it."""
    weights["token_embd.weight"][:, 0] = _CONSTANT
    for layer in range(N_LAYER):
        weights[f"blk.{layer}.attn_output.weight"][0] = 0.0
        weights[f"blk.{layer}.ffn_down.weight"][0] = 0.0
    output = weights["output.weight"]
    output *= _BIASED_LOGIT_SPREAD / _LOGIT_SPREAD
    output[:, 0] = 0.0
    # After the final norm the channel holds about _CONSTANT / 1.7, the root mean square of the stream.
    output[list(FAVOURED_BYTES), 0] = digit_bias * 1.7 / _CONSTANT
