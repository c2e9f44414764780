"""Preparing a base, and every way a model file can be wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from appliance.errors import ModelError, StoreError
from appliance.learn import base as base_module
from appliance.learn.architecture import interleave, shape_of, tensor_names, undo_interleave
from appliance.learn.base import open_base, prepare
from appliance.learn.header import ArrayLength, read_header
from appliance.learn.tiny import N_EMBD, N_HEAD, N_LAYER, N_VOCAB, write_tiny_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_model(path)
    return path


def renamed(source: Path, target: Path, before: bytes, after: bytes) -> Path:
    """A copy with one name replaced by another of equal length."""
    assert len(before) == len(after)
    body = source.read_bytes()
    assert before in body
    target.write_bytes(body.replace(before, after))
    return target


def test_a_base_is_prepared_once(tiny: Path, tmp_path: Path) -> None:
    told: list[str] = []
    first = prepare(tiny, tmp_path, told.append)
    assert len(told) == 4
    before = first.rollout_gguf.stat().st_mtime_ns
    assert prepare(tiny, tmp_path) == first
    assert first.rollout_gguf.stat().st_mtime_ns == before
    assert (first.architecture, first.rollout_type, len(first.fingerprint)) == ("llama", "F32", 64)
    assert not list(tmp_path.glob("*.partial"))


def test_both_sides_hold_the_same_numbers(tiny: Path, tmp_path: Path) -> None:
    """The tiny model is F32 already, so the learner's copy must be its tensors bit for bit, q and k put in order."""
    prepared = prepare(tiny, tmp_path)
    header = read_header(prepared.rollout_gguf)
    data = np.memmap(prepared.rollout_gguf, np.uint8, mode="r")
    weights = load_file(prepared.model_folder / "model.safetensors")
    assert len(weights) == len(header.tensors) == 3 + 9 * N_LAYER

    def stored(name: str) -> np.ndarray:
        entry = header.tensors[name]
        count = int(np.prod(entry.shape)) * 4
        return data[entry.offset : entry.offset + count].view(np.float32).reshape(entry.shape)

    for theirs, ours in (
        ("blk.1.ffn_down.weight", "model.layers.1.mlp.down_proj.weight"),
        ("output.weight", "lm_head.weight"),
        ("token_embd.weight", "model.embed_tokens.weight"),
    ):
        np.testing.assert_array_equal(stored(theirs), weights[ours])
    query = weights["model.layers.0.self_attn.q_proj.weight"]
    np.testing.assert_array_equal(interleave(query, N_HEAD), stored("blk.0.attn_q.weight"))
    assert not np.array_equal(query, stored("blk.0.attn_q.weight"))


def test_interleaving_is_undone() -> None:
    rows = np.arange(48).reshape(16, 3)
    np.testing.assert_array_equal(undo_interleave(interleave(rows, 2), 2), rows)
    assert interleave(rows, 2)[:4, 0].tolist() == [0, 12, 3, 15]


def test_transformers_can_load_the_folder(tiny: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from appliance.learn.lora import new_adapter
    from appliance.learn.model import Model, hidden_states, layout_of, read_config, read_weights
    from appliance.learn.settings import LoraSettings

    folder = prepare(tiny, tmp_path).model_folder
    reference, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, output_loading_info=True
    )
    assert not any(report.values())
    config = read_config(folder)
    weights = read_weights(folder, config, "cpu", torch.float32)
    model = Model(config, weights, new_adapter(config, weights, LoraSettings(), 0), 2.0)
    ids = [256, *b"def f(x):"]
    with torch.no_grad():
        wanted = reference(torch.tensor([ids])).logits[0]
        found = hidden_states(model, layout_of(config, [(ids, [])], "cpu")) @ model.head.T
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_the_header_reader_skips_what_it_does_not_need(tiny: Path) -> None:
    header = read_header(tiny)
    assert header.architecture == "llama"
    assert header.metadata["tokenizer.ggml.tokens"].count == N_VOCAB
    assert header.metadata["llama.attention.head_count"] == N_HEAD
    assert header.tensors["token_embd.weight"].shape == (N_VOCAB, N_EMBD)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.gguf: no such model file") as caught:
        prepare(tmp_path / "absent.gguf", tmp_path / "bases")
    assert caught.value.remedy


@pytest.mark.parametrize("kept", [0, 3, 20, 500, 3000, 200_000, -1])
def test_a_truncated_file(tiny: Path, tmp_path: Path, kept: int) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"cut\.gguf") as caught:
        prepare(cut, tmp_path / "bases")
    assert caught.value.remedy
    assert not list(tmp_path.glob("bases/*"))


def test_noise_never_ends_in_a_traceback(tiny: Path, tmp_path: Path) -> None:
    """Single bytes of the head are changed: either it is still a model, or it is a ModelError."""
    body = bytearray(tiny.read_bytes())
    random = np.random.Generator(np.random.PCG64(0))
    damaged = tmp_path / "damaged.gguf"
    refused = 0
    for place in random.integers(0, 2000, 300):
        before, body[place] = body[place], int(random.integers(0, 256))
        damaged.write_bytes(body)
        try:
            read_header(damaged)
        except ModelError:
            refused += 1
        body[place] = before
    assert refused > 20


def test_counts_that_point_far_outside_are_refused_at_once(tiny: Path, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gguf"
    bomb.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60) + tiny.read_bytes()[24:])
    with pytest.raises(ModelError, match="the file ends inside its own header"):
        read_header(bomb)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"llama", b"mamba", "general.architecture is 'mamba', which is not supported"),
        (b"blk.1.ffn_gate.weight", b"blk.1.ffn_gate.wrong_", "tensor blk.1.ffn_gate.weight is missing"),
        (b"feed_forward_length", b"feed_forward_lengtx", "llama.feed_forward_length is missing"),
    ],
)
def test_an_unsupported_file(tiny: Path, tmp_path: Path, before: bytes, after: bytes, message: str) -> None:
    other = renamed(tiny, tmp_path / "other.gguf", before, after)
    with pytest.raises(ModelError, match=r"other\.gguf") as caught:
        prepare(other, tmp_path / "bases")
    assert message in caught.value.message
    assert caught.value.remedy
    assert not list(tmp_path.glob("bases/*"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("expert_count", 8),
        ("rope.scaling.type", "yarn"),
        ("rope.scaling.factor", 8.0),
        ("rope.dimension_count", 16),
        ("attention.value_length", 64),
        ("final_logit_softcapping", 30.0),
        ("attention.head_count", "four"),
        ("attention.head_count_kv", ArrayLength(2)),
        ("block_count", 0),
    ],
)
def test_a_setting_the_learner_would_get_wrong_is_refused(tiny: Path, key: str, value: object) -> None:
    header = read_header(tiny)
    shape_of(header)
    changed = dataclasses.replace(header, metadata=header.metadata | {f"llama.{key}": value})
    with pytest.raises(ModelError, match=f"llama.{key}"):
        shape_of(changed)


def test_a_tensor_without_a_meaning_is_refused(tiny: Path) -> None:
    header = read_header(tiny)
    extra = header.tensors | {"rope_freqs.weight": header.tensors["output_norm.weight"]}
    with pytest.raises(ModelError, match=r"rope_freqs\.weight has no meaning in a llama model"):
        tensor_names(dataclasses.replace(header, tensors=extra))


def test_a_full_disk(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_module, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(StoreError, match="are free"):
        prepare(tiny, tmp_path)
    assert not list(tmp_path.glob("*-v1"))


def test_a_child_that_fails_leaves_nothing(tiny: Path, tmp_path: Path) -> None:
    """Weights of type I32 have the right size, so our own checks pass; llama.cpp cannot turn them into F32."""
    body = bytearray(tiny.read_bytes())
    kind_at = body.index(b"output.weight") + len(b"output.weight") + 4 + 2 * 8
    assert body[kind_at : kind_at + 4] == struct.pack("<I", 0)
    body[kind_at : kind_at + 4] = struct.pack("<I", 26)
    other = tmp_path / "other.gguf"
    other.write_bytes(body)
    with pytest.raises(ModelError, match="requantize failed") as caught:
        prepare(other, tmp_path / "bases")
    assert caught.value.remedy
    assert [path.suffix for path in (tmp_path / "bases").iterdir()] == [".lock"]


def test_a_damaged_base_is_named(tiny: Path, tmp_path: Path) -> None:
    folder = prepare(tiny, tmp_path).folder
    os.truncate(folder / "rollout.gguf", 1000)
    with pytest.raises(ModelError, match=r"rollout\.gguf does not have its recorded size") as caught:
        open_base(folder)
    assert "delete the folder" in caught.value.remedy
    (folder / "base.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(ModelError, match="not a prepared base"):
        open_base(folder)
