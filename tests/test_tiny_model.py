"""The tiny model: the same bytes each time, small, and with `digit_bias` nearly fair between the ten digits."""

from __future__ import annotations

import math
from pathlib import Path

import gguf
import pytest

from appliance.engine.client import Engine, EngineSettings
from appliance.learn.tiny import BOS, N_HEAD, N_HEAD_KV, N_VOCAB, byte_tokens, write_tiny_model


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_tiny_model(tmp_path / name, seed)
    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again != other


def test_the_shape_shows_layout_mistakes_and_stays_small(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "tiny.gguf")
    tensors = gguf.GGUFReader(tmp_path / "tiny.gguf").tensors
    assert sum(int(tensor.n_elements) for tensor in tensors) < 2_000_000
    assert 1 < N_HEAD_KV < N_HEAD
    assert len(set(byte_tokens())) == 256 == N_VOCAB - 2


@pytest.mark.parametrize("prompt", [b"3+4=", b"largest of 2 and 9 is ", b"\n"])
def test_with_digit_bias_every_digit_has_a_fair_chance(tmp_path: Path, prompt: bytes) -> None:
    write_tiny_model(tmp_path / "tiny.gguf", digit_bias=7.0)
    settings = EngineSettings(str(tmp_path / "tiny.gguf"), slots=1, threads=1)
    with Engine(settings, tmp_path / "engine.log") as engine:
        chances = [math.exp(engine.score((BOS, *prompt), (digit,))[0]) for digit in b"0123456789"]
    assert 0.8 < sum(chances) < 0.98
    assert all(0.03 < chance < 0.2 for chance in chances)
