"""The engine process on the tiny model: what it samples, what it shares, in which order it admits."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from appliance.engine.client import BatchPlace, Completion, Engine, EngineSettings
from appliance.errors import EngineError
from appliance.learn.tiny import BOS, EOS, write_tiny_model
from appliance.nouns import Sampling


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("engine")
    write_tiny_model(found / "tiny.gguf")
    write_tiny_model(found / "digits.gguf", digit_bias=7.0)
    return found


def open_engine(folder: Path, name: str = "tiny.gguf", **settings: object) -> Engine:
    fields: dict[str, object] = {"slots": 4, "threads": 1, **settings}
    return Engine(EngineSettings(model=str(folder / name), **fields), folder / "engine.log")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    with open_engine(folder, slots=8) as found:
        yield found


@pytest.fixture(scope="module")
def exact(folder: Path) -> Iterator[Engine]:
    with open_engine(folder, exact=True) as found:
        yield found


@pytest.fixture(scope="module")
def digits(folder: Path) -> Iterator[Engine]:
    with open_engine(folder, "digits.gguf") as found:
        yield found


def together(calls: list[Callable[[], Completion]]) -> list[Completion]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def wait_for(engine: Engine, what: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while engine.stats()[what] < count:
        assert time.monotonic() < deadline, f"never {count} {what}"


def prompt_of(text: str) -> tuple[int, ...]:
    return (BOS, *text.encode())


def test_what_was_opened_is_reported(engine: Engine, folder: Path) -> None:
    info = engine.info
    assert (info.architecture, info.n_vocab, info.bos, info.add_bos) == ("llama", 258, BOS, True)
    assert (info.slots, info.n_ctx, info.n_ctx_train, info.file_type) == (8, 8 * 512 + 4096, 4096, 0)
    assert EOS in info.end_ids
    assert info.build.startswith(f"llama-cpp-python {llama_cpp.__version__} ")


def test_tokenize_and_detokenize_are_exact_on_bytes(engine: Engine) -> None:
    text = "def f(x):\n    return 'é' + \"<|end|>\""
    assert engine.tokenize(text, add_bos=True) == prompt_of(text)
    assert engine.detokenize(engine.tokenize(text, add_bos=False)) == text.encode()
    assert engine.detokenize([0xC3, BOS, 0xA9, EOS]) == "é".encode()


def test_control_tokens_in_text_count_only_when_asked_for(engine: Engine) -> None:
    assert EOS not in engine.tokenize("a<|end|>", add_bos=False)
    assert engine.tokenize("a<|end|>", add_bos=False, special=True) == (97, EOS)


def test_greedy_in_a_crowd_equals_one_sequence_alone(engine: Engine, folder: Path) -> None:
    prompts = [prompt_of(f"example {index} " + "x" * (7 * index)) for index in range(8)]
    found = together(
        [lambda p=p: engine.generate(p, Sampling(temperature=0, max_tokens=24), seed=0) for p in prompts]
    )
    alone = llama_cpp.Llama(str(folder / "tiny.gguf"), n_ctx=512, n_threads=1, verbose=False)
    for prompt, completion in zip(prompts, found, strict=True):
        alone.reset()
        alone.eval(list(prompt))
        expected = []
        while len(expected) < 24 and EOS not in expected:
            expected.append(
                int(np.argmax(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(alone.ctx, -1), (258,))))
            )
            alone.eval(expected[-1:])
        assert completion.ids == tuple(expected)
        assert set(completion.logprobs) == {0.0}


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
@pytest.mark.parametrize("which", ["engine", "exact"])
def test_recorded_logprobs_equal_teacher_forced_ones(
    which: str, temperature: float, request: pytest.FixtureRequest
) -> None:
    engine: Engine = request.getfixturevalue(which)
    prompt = prompt_of("def add(a, b):\n    return ")
    found = engine.generate(prompt, Sampling(temperature, 100), seed=11)
    scored = engine.score(prompt, found.ids, temperature)
    assert len(found.ids) == len(found.logprobs) > 10
    difference = np.abs(np.array(found.logprobs) - scored)
    # Flash attention rounds to F16, differently for one row and for many; without it only F32 noise is left.
    assert difference.max() < (1e-4 if which == "exact" else 2e-2)
    assert difference.mean() < 2e-3
    shifted = engine.score(prompt, found.ids[1:], temperature)
    assert np.abs(np.array(found.logprobs[1:]) - shifted).max() > 0.1, "an off-by-one must show"


def test_scores_do_not_depend_on_how_they_are_cut(exact: Engine) -> None:
    ids = tuple(np.random.Generator(np.random.PCG64(0)).integers(0, 256, 900).tolist())
    whole = exact.score(ids[:1], ids[1:])
    parts = exact.score(ids[:700], ids[700:])
    assert len(whole) == 899
    np.testing.assert_allclose(whole[699:], parts, atol=1e-4)
    assert exact.score(ids[:3], ()) == ()


def test_a_prompt_is_evaluated_once_and_sharing_changes_nothing(folder: Path) -> None:
    prompt = prompt_of("the same prompt for everybody: " * 20)
    with open_engine(folder, slots=6, exact=True) as engine:
        place = [BatchPlace("group", index, 6) for index in range(6)]
        found = together(
            [lambda i=i: engine.generate(prompt, Sampling(1.0, 20), seed=i, batch=place[i]) for i in range(6)]
        )
        assert [completion.prefill_tokens for completion in found] == [len(prompt), 0, 0, 0, 0, 0]
        again = engine.generate(prompt, Sampling(1.0, 20), seed=3)
        assert (again.prefill_tokens, again.ids) == (0, found[3].ids)
        stats = engine.stats()
        assert (stats["prefill_tokens"], stats["shared_prompts"]) == (len(prompt), 6)
        assert stats["sampled_tokens"] == sum(len(c.ids) for c in [*found, again])
        for completion in found:
            np.testing.assert_allclose(completion.logprobs, engine.score(prompt, completion.ids), atol=1e-4)
    assert len({completion.ids for completion in found}) == 6


def test_a_header_common_to_two_prompts_is_evaluated_once(folder: Path) -> None:
    header = "a long header that all tasks have in common\n"
    prompts = [prompt_of(header + f"{index} is the task") for index in range(3)]
    with open_engine(folder, exact=True) as engine:
        found = together(
            [
                lambda i=i: engine.generate(
                    prompts[i], Sampling(1.0, 12), seed=i, batch=BatchPlace("b", i, 3)
                )
                for i in range(3)
            ]
        )
        tail = len("0 is the task")
        assert [completion.prefill_tokens for completion in found] == [len(prompts[0]), tail, tail]
        for prompt, completion in zip(prompts, found, strict=True):
            np.testing.assert_allclose(completion.logprobs, engine.score(prompt, completion.ids), atol=1e-4)


def test_a_seed_decides_the_draws_and_nothing_else_does(engine: Engine) -> None:
    prompt = prompt_of("seeded ")
    first, again, other = (
        engine.generate(prompt, Sampling(1.0, 30), seed=seed) for seed in (2**100, 2**100, 8)
    )
    assert first.ids == again.ids != other.ids


def test_arrival_order_of_threads_changes_nothing(folder: Path) -> None:
    prompts = [prompt_of(f"task {index // 4}: " + "ab" * (index // 4)) for index in range(16)]

    def run(order: list[int]) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        found: dict[int, Completion] = {}

        def work(index: int) -> None:
            place = BatchPlace("run", index, 16)
            sampling = Sampling(1.0, 8 + index)
            found[index] = engine.generate(prompts[index], sampling, seed=index, batch=place)

        with open_engine(folder, slots=5, hold_s=60.0) as engine:
            threads = [threading.Thread(target=work, args=(index,)) for index in order]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return [(found[index].ids, found[index].logprobs) for index in range(16)]

    shuffled = list(range(16))
    random.Random(1).shuffle(shuffled)
    assert run(list(range(16))) == run(shuffled) == run(list(reversed(range(16))))


def test_a_batch_with_a_missing_member_goes_on(folder: Path) -> None:
    with open_engine(folder, hold_s=0.05) as engine:
        found = engine.generate(prompt_of("x"), Sampling(1.0, 3), seed=0, batch=BatchPlace("b", 2, 3))
    assert len(found.ids) == 3


def test_stop_strings_keep_the_sampled_token_and_trim_the_text(digits: Engine) -> None:
    prompt = prompt_of("n = ")
    free = digits.generate(prompt, Sampling(1.0, 60), seed=4)
    text = free.text.decode()
    stop = text[10:12]
    found = digits.generate(prompt, Sampling(1.0, 60, stop=(stop, "never")), seed=4)
    end = text.index(stop) + 2
    assert found.stop_reason == "stop"
    assert found.ids == free.ids[:end]
    assert len(found.logprobs) == len(found.ids)
    assert (found.text.decode(), found.trimmed.decode()) == (text[:end], text[: end - 2])


def test_the_token_limit_ends_a_sequence(digits: Engine) -> None:
    found = digits.generate(prompt_of("n = "), Sampling(1.0, 7), seed=5)
    assert (len(found.ids), found.stop_reason) == (7, "max_tokens")
    assert found.text == found.trimmed == digits.detokenize(found.ids)


def test_an_end_token_is_kept_and_has_no_text(engine: Engine) -> None:
    for seed in range(40):
        found = engine.generate(prompt_of("end? "), Sampling(3.0, 400), seed=seed)
        if found.stop_reason == "end_of_text":
            break
    assert found.ids[-1] == EOS
    assert len(found.text) == len(found.ids) - 1
    assert len(found.logprobs) == len(found.ids)


def test_the_context_ends_a_sequence(folder: Path) -> None:
    with open_engine(folder, "digits.gguf", context=256) as engine:
        prompt = prompt_of("y" * 199)
        found = engine.generate(prompt, Sampling(0, 500), seed=0)
        assert (found.stop_reason, len(found.ids)) == ("context_full", 57)
        exact = engine.generate(prompt, Sampling(0, 57), seed=0)
        assert (exact.stop_reason, exact.ids) == ("max_tokens", found.ids)
        none = engine.generate(prompt_of("z" * 300), Sampling(0, 5), seed=0)
        assert (none.stop_reason, none.ids) == ("context_full", ())
        assert len(engine.score(prompt[:1], [1] * 256)) == 256
        with pytest.raises(EngineError, match="at most 256"):
            engine.score(prompt[:1], [1] * 257)


def test_more_requests_than_slots_and_cells_all_come_through(folder: Path) -> None:
    lengths = random.Random(2)
    asked = [(lengths.randint(1, 700), lengths.randint(1, 60)) for _ in range(40)]
    with open_engine(folder, "digits.gguf", context=1024, slots=3) as engine:
        found = together(
            [
                lambda i=i, n=n, m=m: engine.generate([i % 256] * n, Sampling(1.0, m), seed=i)
                for i, (n, m) in enumerate(asked)
            ]
        )
        for (_, wanted), completion in zip(asked, found, strict=True):
            assert len(completion.ids) == wanted or completion.stop_reason == "end_of_text"
        stats = engine.stats()
    assert (stats["live"], stats["waiting"]) == (0, 0)


def test_a_timeout_returns_what_there_is(digits: Engine) -> None:
    found = digits.generate(prompt_of("slow "), Sampling(0, 4000), seed=0, timeout_s=0.2)
    assert found.stop_reason == "cancelled"
    assert 0 < len(found.ids) == len(found.logprobs) < 4000


def test_cancelling_a_batch_spares_the_others(digits: Engine) -> None:
    def call(batch: BatchPlace | None, max_tokens: int) -> Callable[[], Completion]:
        return lambda: digits.generate(prompt_of("long "), Sampling(0, max_tokens), seed=0, batch=batch)

    calls = [call(BatchPlace("doomed", index, 6), 1400) for index in range(6)]
    with ThreadPoolExecutor(7) as pool:
        doomed = [pool.submit(each) for each in calls]
        wait_for(digits, "live", 4)
        spared = pool.submit(call(None, 20))
        wait_for(digits, "waiting", 3)
        assert digits.cancel("doomed") == 6
        assert {future.result().stop_reason for future in doomed} == {"cancelled"}
        assert len(spared.result().ids) == 20
    assert digits.cancel() == 0


@pytest.mark.parametrize(
    ("prompt", "sampling"),
    [
        ((), Sampling()),
        ((258,), Sampling()),
        ((-1,), Sampling()),
        ((1,), Sampling(max_tokens=0)),
        ((1,), Sampling(temperature=-0.5)),
        ((1,), Sampling(temperature=float("nan"))),
    ],
)
def test_bad_requests_are_refused_and_the_engine_goes_on(
    engine: Engine, prompt: tuple[int, ...], sampling: Sampling
) -> None:
    with pytest.raises(EngineError):
        engine.generate(prompt, sampling, seed=0)
    assert len(engine.generate(prompt_of("ok"), Sampling(0, 2), seed=0).ids) == 2
