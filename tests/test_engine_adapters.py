"""Swapping adapters: logits change and come back, nothing stale survives, the version is asserted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import numpy as np
import pytest

from appliance.engine.client import Completion, Engine, EngineSettings
from appliance.engine.records import VERSION_KEY
from appliance.errors import EngineError
from appliance.learn.tiny import BOS, N_EMBD, N_LAYER, write_tiny_model
from appliance.nouns import Sampling

PROMPT = (BOS, *b"def f(x):\n    return ")
TAIL = tuple(b"x + 1\n\ndef g(y):")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("adapters")
    write_tiny_model(found / "tiny.gguf")
    for seed, version in enumerate(("v1", "v2"), start=1):
        write_adapter(found / f"{version}.gguf", version, seed)
    return found


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    with open_engine(folder) as found:
        yield found


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, tuple[float, ...]]:
    """What a fresh process says under each policy."""
    found = {}
    for version in ("base", "v1", "v2"):
        with open_engine(folder) as engine:
            if version != "base":
                engine.set_adapter(folder / f"{version}.gguf", version)
            found[version] = engine.score(PROMPT, TAIL)
    assert (
        min(difference(found[a], found[b]) for a, b in (("base", "v1"), ("base", "v2"), ("v1", "v2"))) > 0.05
    )
    return found


def open_engine(folder: Path) -> Engine:
    settings = EngineSettings(model=str(folder / "tiny.gguf"), slots=4, threads=1, exact=True)
    return Engine(settings, folder / "engine.log")


def difference(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return float(np.abs(np.subtract(left, right)).mean())


def write_adapter(path: Path, version: str, seed: int, *, architecture: str = "llama", rank: int = 4) -> None:
    """A random LoRA on two kinds of matrices of every layer."""
    random = np.random.Generator(np.random.PCG64(seed))
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    writer.add_string(VERSION_KEY, version)
    for layer in range(N_LAYER):
        for name, inner in (("attn_output", N_EMBD), ("ffn_down", 2 * N_EMBD)):
            a = random.standard_normal((rank, inner)) / inner**0.5
            b = random.standard_normal((N_EMBD, rank)) * 0.2
            writer.add_tensor(f"blk.{layer}.{name}.weight.lora_a", a.astype(np.float32))
            writer.add_tensor(f"blk.{layer}.{name}.weight.lora_b", b.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_every_order_of_swaps_gives_the_logits_of_a_fresh_process(
    engine: Engine, folder: Path, expected: dict[str, tuple[float, ...]]
) -> None:
    # Each adapter is freed after the next one is set, so its address is free for the one after that.
    for version in ("v1", "v2", "v1", "base", "v2", "v2", "base", "v1", "v2", "v1"):
        engine.set_adapter(None if version == "base" else folder / f"{version}.gguf", version)
        assert difference(engine.score(PROMPT, TAIL), expected[version]) < 1e-5
        found = engine.generate(PROMPT, Sampling(1.0, 8), seed=1)
        assert found.policy_version == version
        assert difference(found.logprobs, engine.score(PROMPT, found.ids)) < 1e-4


def test_no_cached_prompt_survives_a_swap(engine: Engine, folder: Path) -> None:
    before = engine.generate(PROMPT, Sampling(1.0, 12), seed=2)
    engine.set_adapter(folder / "v1.gguf", "v1")
    after = engine.generate(PROMPT, Sampling(1.0, 12), seed=2)
    assert after.prefill_tokens == len(PROMPT)
    assert difference(after.logprobs, engine.score(PROMPT, after.ids)) < 1e-4
    engine.set_adapter(None, "base")
    back = engine.generate(PROMPT, Sampling(1.0, 12), seed=2)
    assert (back.ids, back.logprobs) == (before.ids, before.logprobs)


def test_an_adapter_of_another_version_is_refused_and_the_old_one_stays(
    engine: Engine, folder: Path, expected: dict[str, tuple[float, ...]]
) -> None:
    engine.set_adapter(folder / "v1.gguf", "v1")
    with pytest.raises(EngineError, match="policy version 'v2', not 'v3'"):
        engine.set_adapter(folder / "v2.gguf", "v3")
    assert difference(engine.score(PROMPT, TAIL), expected["v1"]) < 1e-5
    assert engine.generate(PROMPT, Sampling(0, 1), seed=0).policy_version == "v1"


def test_files_that_are_no_adapter_for_this_model_are_refused(engine: Engine, folder: Path) -> None:
    write_adapter(folder / "foreign.gguf", "v1", 1, architecture="qwen2")
    whole = (folder / "v1.gguf").read_bytes()
    (folder / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "text.gguf").write_text("not a GGUF")
    for name in ("foreign", "cut", "text", "absent"):
        with pytest.raises(EngineError, match=f"{name}.gguf: llama.cpp cannot load this adapter"):
            engine.set_adapter(folder / f"{name}.gguf", "v1")
    assert engine.generate(PROMPT, Sampling(0, 1), seed=0).policy_version == "base"


def test_a_swap_is_refused_while_sequences_are_live(engine: Engine, folder: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(engine.generate, PROMPT, Sampling(0, 3000), seed=0)
        while engine.stats()["live"] < 1:
            assert not running.done(), "the sequence ended before it could be seen live"
        with pytest.raises(EngineError, match="1 sequences are live"):
            engine.set_adapter(folder / "v1.gguf", "v1")
        engine.cancel()
        found: Completion = running.result()
    assert (found.policy_version, found.stop_reason) == ("base", "cancelled")
    engine.set_adapter(folder / "v1.gguf", "v1")


def test_a_restart_brings_the_adapter_back(
    engine: Engine, folder: Path, expected: dict[str, tuple[float, ...]]
) -> None:
    engine.set_adapter(folder / "v2.gguf", "v2")
    engine.restart()
    assert difference(engine.score(PROMPT, TAIL), expected["v2"]) < 1e-5
