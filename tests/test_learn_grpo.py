"""The update rule: what carries gradient, what the denominator is, and that it learns."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch

from appliance.errors import ConfigError, IntegrityError, LearnerError, NotFoundError
from appliance.learn.base import Base, prepare
from appliance.learn.grpo import accumulate, score
from appliance.learn.logprob import Head
from appliance.learn.model import Model
from appliance.learn.settings import LearnerSettings, LoraSettings
from appliance.learn.tiny import write_tiny_model
from appliance.learn.worker import Worker, load_policy
from appliance.nouns import Sample

PROMPT = (256, *b"x = ")
OTHER_PROMPT = (256, *b"return ")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    folder = tmp_path_factory.mktemp("grpo")
    write_tiny_model(folder / "tiny.gguf")
    return prepare(folder / "tiny.gguf", folder / "bases")


def settings(base: Base, **changes: object) -> LearnerSettings:
    fields = {"learning_rate": 1e-3, "lora": LoraSettings(4, 8.0), "device": "cpu", "threads": 1, **changes}
    return LearnerSettings(base=str(base.folder), **fields)  # type: ignore[arg-type]


def sample(completion: bytes, advantage: float, prompt: tuple[int, ...] = PROMPT) -> Sample:
    return Sample(completion.hex(), prompt, tuple(completion), (0.0,) * len(completion), advantage, "base")


def on_policy(worker: Worker, samples: list[Sample]) -> list[Sample]:
    """The samples as if the present policy had drawn them."""
    rows = worker.score(samples)
    return [dataclasses.replace(s, logprobs=row) for s, row in zip(samples, rows, strict=True)]


def shaken_policy(base: Base, asked: LearnerSettings) -> tuple[Model, Head]:
    """A policy whose B is not zero, the same every time."""
    model, head = load_policy(base, asked, "cpu")
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, values in model.adapter.items():
            if name.endswith("lora_b"):
                values.normal_(0, 0.05, generator=generator)
    return model, head


def gradient(base: Base, samples: list[Sample], planned: int, **changes: object) -> torch.Tensor:
    asked = settings(base, **changes)
    model, head = shaken_policy(base, asked)
    accumulate(model, head, samples, planned, asked)
    parts = [torch.zeros_like(v) if v.grad is None else v.grad for v in model.adapter.values()]
    return torch.cat([part.flatten() for part in parts])


WORDS = [b"1\n", b"22 + x\n", b"f(x)", b"7", b"a[0] * 3 - 1\n", b"0"]


def uneven(base: Base) -> list[Sample]:
    """Samples of uneven length and advantage over two prompts, with the log-probabilities of a near policy."""
    prompts = (PROMPT, OTHER_PROMPT)
    samples = [sample(word, (-1) ** i * (i + 1) / 3, prompts[i % 2]) for i, word in enumerate(WORDS)]
    return on_policy(Worker(settings(base)), samples)


def test_micro_batches_add_up_to_the_whole(base: Base) -> None:
    samples = uneven(base)
    whole = gradient(base, samples, 40, micro_tokens=10_000)
    for tokens in (1, 5, 9):
        torch.testing.assert_close(
            gradient(base, samples, 40, micro_tokens=tokens), whole, atol=1e-7, rtol=1e-5
        )
    parts = sum(gradient(base, [one], 40) for one in samples)
    torch.testing.assert_close(parts, whole, atol=1e-7, rtol=1e-5)


def test_the_denominator_is_what_was_planned(base: Base) -> None:
    """Twice the plan is half the gradient; a group that drops out changes nothing for the others."""
    samples = uneven(base)
    whole = gradient(base, samples, 40)
    torch.testing.assert_close(gradient(base, samples, 80) * 2, whole, atol=1e-8, rtol=1e-5)
    dead = [sample(b"never mind, this is long", 0.0), sample(b"so is this one, and longer", 0.0)]
    assert torch.equal(gradient(base, [*samples, *dead], 40), whole)


def test_the_gradient_is_the_policy_gradient(base: Base) -> None:
    """−A/planned · Σ r ∇log p by hand: log p is differentiated numerically along the gradient itself."""
    asked = settings(base)
    model, head = load_policy(base, asked, "cpu")
    one = on_policy(Worker(asked), [sample(b"42\n", 0.75)])
    accumulate(model, head, one, 8, asked)
    direction = {name: values.grad.clone() for name, values in model.adapter.items()}
    norm = math.sqrt(sum(float((d**2).sum()) for d in direction.values()))
    step = 1e-2
    totals = []
    for sign in (1, -1):
        with torch.no_grad():
            for name, values in model.adapter.items():
                values.add_(direction[name], alpha=sign * step / norm)
        totals.append(sum(score(model, head, one, 1024)[0]))
        with torch.no_grad():
            for name, values in model.adapter.items():
                values.sub_(direction[name], alpha=sign * step / norm)
    slope = (totals[0] - totals[1]) / (2 * step)
    assert slope == pytest.approx(-norm * 8 / 0.75, rel=0.01)


def test_a_sample_without_advantage_is_not_even_run(base: Base) -> None:
    worker = Worker(settings(base))
    before = worker.score([sample(b"12", 1.0)])
    metrics = worker.step([sample(b"12", 0.0), sample(b"3", 0.0), sample(b"", 1.0)], 8)
    assert (metrics.updated, metrics.tokens, metrics.grad_norm, metrics.loss) == (False, 0, 0.0, 0.0)
    assert worker.score([sample(b"12", 1.0)]) == before


def test_a_dead_update_leaves_momentum_alone(base: Base) -> None:
    """AdamW moves weights on a zero gradient when it has momentum; a dead batch must not."""
    worker = Worker(settings(base))
    live = on_policy(worker, [sample(b"12", 1.0), sample(b"3", -1.0)])
    worker.step(live, 8)
    before = worker.score(live)
    worker.step([sample(b"12", 0.0)], 8)
    assert worker.score(live) == before


def test_tokens_the_engine_saw_otherwise_are_masked(base: Base) -> None:
    """A ratio outside the mask carries no gradient; with every token outside, nothing is updated."""
    worker = Worker(settings(base))
    (honest,) = on_policy(worker, [sample(b"123", 1.0)])
    far = dataclasses.replace(honest, logprobs=tuple(p - 1.0 for p in honest.logprobs))
    mixed = dataclasses.replace(honest, logprobs=(honest.logprobs[0], *far.logprobs[1:]))
    metrics = worker.step([far], 8)
    assert (metrics.updated, metrics.masked_share, metrics.capped_share) == (False, 1.0, 1.0)
    assert metrics.mean_abs_logratio == pytest.approx(1.0, abs=1e-5)
    assert metrics.k3 == pytest.approx(math.e - 2, abs=1e-4)
    kept = gradient(base, [honest], 8)
    only_first = gradient(base, [mixed], 8)
    assert float(only_first.norm()) > 0
    assert not torch.allclose(only_first, kept)
    metrics = worker.step([mixed], 8)
    assert metrics.updated
    assert metrics.masked_share == pytest.approx(2 / 3)


def test_the_weight_is_capped(base: Base) -> None:
    """With the mask open, a ratio of e weighs e uncapped and 2 capped, and the ratio carries no gradient itself."""
    wide = {"token_mask": (0.0, 100.0)}
    one = sample(b"9", 1.0)
    (present,) = score(*shaken_policy(base, settings(base)), [one], 1024)
    exact = dataclasses.replace(one, logprobs=present)
    far = dataclasses.replace(exact, logprobs=tuple(p - 1.0 for p in exact.logprobs))
    plain = gradient(base, [exact], 8, **wide)
    torch.testing.assert_close(
        gradient(base, [far], 8, weight_cap=2.0, **wide), 2 * plain, rtol=1e-4, atol=1e-7
    )
    uncapped = gradient(base, [far], 8, weight_cap=50.0, **wide)
    torch.testing.assert_close(uncapped, math.e * plain, rtol=1e-4, atol=1e-7)


def test_an_update_makes_good_tokens_likelier(base: Base) -> None:
    worker = Worker(settings(base))
    samples = on_policy(worker, [sample(b"good", 0.5), sample(b"poor", -0.5)])
    metrics = worker.step(samples, 8)
    assert metrics.updated
    assert metrics.tokens == 8
    assert metrics.mean_abs_logratio < 1e-5
    assert 0 < metrics.entropy < math.log(258)
    after = worker.score(samples)
    assert sum(after[0]) > sum(samples[0].logprobs)
    assert sum(after[1]) < sum(samples[1].logprobs)


def test_a_gradient_that_is_not_finite_is_refused(base: Base) -> None:
    worker = Worker(settings(base))
    batch = on_policy(worker, [sample(b"good", 1e38), sample(b"poor", -1e38)])
    with pytest.raises(LearnerError, match="not finite"):
        worker.step(batch, 1)
    assert worker.score(batch) == tuple(one.logprobs for one in batch)
    assert worker.step([dataclasses.replace(one, advantage=1.0) for one in batch], 8).updated


def test_absurd_engine_logprobs_stay_finite_measurements(base: Base) -> None:
    absurd = dataclasses.replace(sample(b"123", 1.0), logprobs=(-900.0, -900.0, -900.0))
    metrics = Worker(settings(base)).step([absurd], 8)
    assert not metrics.updated
    assert math.isfinite(metrics.k3)
    assert metrics.masked_share == 1.0


def test_a_two_armed_bandit_is_learnt(base: Base) -> None:
    """Only `1` pays, only `0` and `1` are played, drawn from the policy itself: at most 30 updates to 90 %."""
    worker = Worker(settings(base, learning_rate=5e-3, temperature=1.0))
    generator = torch.Generator().manual_seed(0)
    arms = [sample(b"0", 0.0), sample(b"1", 0.0)]
    for _ in range(30):
        (zero,), (one,) = worker.score(arms)
        share = 1 / (1 + math.exp(zero - one))
        if share > 0.9:
            break
        wins = (torch.rand(16, generator=generator) < share).tolist()
        mean = sum(wins) / len(wins)
        worker.step(
            [
                dataclasses.replace(arms[win], logprobs=(one if win else zero,), advantage=win - mean)
                for win in wins
            ],
            16,
        )
    assert share > 0.9


def test_temperature_reaches_the_logprobs(base: Base) -> None:
    hot, cold = (Worker(settings(base, temperature=t)).score([sample(b"0", 1.0)])[0][0] for t in (50.0, 1.0))
    assert hot == pytest.approx(-math.log(258), abs=0.1)
    assert abs(cold + math.log(258)) > 0.3


def test_one_seed_is_one_start(base: Base) -> None:
    batch = [sample(b"12", 1.0), sample(b"3", -1.0)]
    first, second, third = (Worker(settings(base, seed=seed)) for seed in (7, 7, 8))
    batch = on_policy(first, batch)
    scores = []
    for worker in (first, second, third):
        worker.step(batch, 8)
        scores.append(worker.score(batch))
    assert scores[0] == scores[1] != scores[2]


def test_a_checkpoint_continues_bit_for_bit(base: Base, tmp_path: Path) -> None:
    asked = settings(base, learning_rate=1e-4)
    straight = Worker(asked)
    batch = on_policy(straight, [sample(b"12", 1.0), sample(b"3", -1.0)])
    for _ in range(2):
        straight.step(batch, 8)
    straight.save(tmp_path / "state")
    straight.save(tmp_path / "state")
    resumed = Worker(dataclasses.replace(asked, seed=99))
    resumed.load(tmp_path / "state")
    for worker in (straight, resumed):
        for _ in range(3):
            last = worker.step(batch, 8)
        worker.export_adapter(tmp_path / f"{id(worker)}.gguf", None, "v")
    assert last.updated
    assert straight.score(batch) == resumed.score(batch)
    exported = [path.read_bytes() for path in tmp_path.glob("*.gguf")]
    assert len(exported) == 2
    assert exported[0] == exported[1]
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == [
        "adapter.safetensors",
        "optimiser.safetensors",
        "state.json",
    ]


def test_a_checkpoint_that_does_not_fit_is_refused(base: Base, tmp_path: Path) -> None:
    worker = Worker(settings(base))
    with pytest.raises(NotFoundError, match="no complete learner state"):
        worker.load(tmp_path / "absent")
    worker.save(tmp_path / "state")
    with pytest.raises(IntegrityError, match="rank is 4, this learner has 8"):
        Worker(settings(base, lora=LoraSettings(8, 8.0))).load(tmp_path / "state")
    body = bytearray((tmp_path / "state" / "adapter.safetensors").read_bytes())
    body[-1] ^= 1
    (tmp_path / "state" / "adapter.safetensors").write_bytes(body)
    with pytest.raises(IntegrityError, match="SHA-256"):
        worker.load(tmp_path / "state")
    (tmp_path / "state" / "state.json").unlink()
    with pytest.raises(NotFoundError, match="no complete learner state"):
        worker.load(tmp_path / "state")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt_ids": ()}, "prompt_ids is empty"),
        ({"logprobs": (0.0,)}, "differ in length"),
        ({"advantage": math.nan}, "must be finite"),
        ({"logprobs": (math.inf, 0.0)}, "must be finite"),
        ({"completion_ids": (1, 258)}, "outside the vocabulary"),
        ({"prompt_ids": (-1,)}, "outside the vocabulary"),
    ],
)
def test_a_broken_sample_is_refused(base: Base, changes: dict[str, object], message: str) -> None:
    worker = Worker(settings(base))
    broken = dataclasses.replace(sample(b"12", 1.0), **changes)  # type: ignore[arg-type]
    with pytest.raises(LearnerError, match=message):
        worker.step([broken], 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.0},
        {"temperature": 0.0},
        {"token_mask": (2.0, 0.5)},
        {"precision": "half"},
        {"threads": -1},
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(changes))):
        LearnerSettings(base="", **changes)  # type: ignore[arg-type]


def test_settings_survive_json() -> None:
    asked = LearnerSettings(base="b", lora=LoraSettings(3, 4.5), token_mask=(0.1, 9.0), seed=5)
    assert LearnerSettings.from_json(asked.to_json()) == asked


def test_a_gpu_that_is_not_there(base: Base) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(ConfigError, match="'cuda' is not available"):
        Worker(settings(base, device="cuda"))
    with pytest.raises(ConfigError, match="'tpu' is not available"):
        Worker(settings(base, device="tpu"))
