"""The learner inside its process: one base, one adapter, one optimiser.

One call is one optimiser step. A step whose gradient is not finite is refused and changes nothing; a step in which
no token carries a gradient changes nothing either, not even the optimiser's momentum.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from appliance.errors import ConfigError, LearnerError
from appliance.learn import adapter as adapter_files
from appliance.learn import checkpoint
from appliance.learn.architecture import FAMILIES
from appliance.learn.base import Base, open_base
from appliance.learn.grpo import Tally, accumulate, check_samples, score
from appliance.learn.logprob import Head, fast_copy
from appliance.learn.lora import new_adapter
from appliance.learn.model import Model, linear_names, read_config, read_weights
from appliance.learn.settings import LearnerInfo, LearnerSettings, StepMetrics
from appliance.nouns import Sample

_WIDE_HEAD = 16_000_000
_BETAS = (0.9, 0.999)


class Worker:
    """Owns the torch state from start to end of the process."""

    def __init__(self, settings: LearnerSettings) -> None:
        self._settings = settings
        self._base = open_base(Path(settings.base))
        if settings.threads:
            torch.set_num_threads(settings.threads)
        device = chosen_device(settings.device)
        self._model, self._head = load_policy(self._base, settings, device)
        self._optimiser = torch.optim.AdamW(
            self._model.adapter.values(), lr=settings.learning_rate, betas=_BETAS, weight_decay=0.0
        )
        self._steps = 0

    @property
    def info(self) -> LearnerInfo:
        return LearnerInfo(
            architecture=self._base.architecture,
            base_fingerprint=self._base.fingerprint,
            device=str(self._model.device),
            precision="exact" if self._head.fast_weight is None else "fast",
            threads=torch.get_num_threads(),
            torch=str(torch.__version__),
            trainable=sum(values.numel() for values in self._model.adapter.values()),
            vocabulary=self._model.config.vocabulary,
        )

    def step(self, samples: Sequence[Sample], planned_tokens: int) -> StepMetrics:
        """Make one update from `samples`; the loss is divided by `planned_tokens`."""
        started = time.monotonic()
        if planned_tokens < 1:
            raise LearnerError(f"planned_tokens is {planned_tokens}; it must be positive")
        check_samples(samples, self._model.config.vocabulary)
        self._optimiser.zero_grad(set_to_none=True)
        tally = accumulate(self._model, self._head, samples, planned_tokens, self._settings)
        norm = self._apply() if tally.contributing else 0.0
        return _metrics(tally, norm, time.monotonic() - started)

    def score(self, samples: Sequence[Sample]) -> tuple[tuple[float, ...], ...]:
        """Return the log-probability of every completion token, always with the exact output matrix."""
        check_samples(samples, self._model.config.vocabulary)
        head = Head(self._head.weight, self._head.temperature)
        return score(self._model, head, samples, self._settings.micro_tokens)

    def export_adapter(self, gguf: Path, peft_folder: Path | None, version: str) -> None:
        """Write the adapter for the engine and, when asked, for peft."""
        file = adapter_files.AdapterFile(
            family=FAMILIES[self._base.architecture],
            config=self._model.config,
            lora=self._settings.lora,
            tensors=self._model.adapter,
            version=version,
        )
        adapter_files.write_gguf(gguf, file)
        if peft_folder is not None:
            adapter_files.write_peft(peft_folder, file)

    def save(self, folder: Path) -> None:
        """Write a checkpoint."""
        checkpoint.save(folder, self._model.adapter, self._optimiser, self._identity(), self._steps)

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint."""
        self._steps = checkpoint.load(folder, self._model.adapter, self._optimiser, self._identity())

    def _identity(self) -> checkpoint.Identity:
        lora = self._settings.lora
        return checkpoint.Identity(self._base.fingerprint, lora.rank, lora.alpha)

    def _apply(self) -> float:
        parameters = list(self._model.adapter.values())
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, self._settings.grad_clip))
        if not math.isfinite(norm):
            raise LearnerError("the gradient is not finite; the update was refused and nothing was changed")
        self._optimiser.step()
        self._steps += 1
        return norm


def chosen_device(asked: str) -> str:
    """Resolve `auto`; refuse a device that is not there."""
    has_cuda = bool(torch.cuda.is_available())
    if asked == "auto":
        return "cuda" if has_cuda else "cpu"
    if asked != "cpu" and not (asked.startswith("cuda") and has_cuda):
        raise ConfigError(f"learner: device {asked!r} is not available", remedy="use auto, cpu or cuda")
    return asked


def load_policy(base: Base, settings: LearnerSettings, device: str) -> tuple[Model, Head]:
    """Load the base, add a fresh adapter, and make the bfloat16 copies `fast` needs."""
    config = read_config(base.model_folder)
    on_gpu = device.startswith("cuda")
    fast = _is_fast(settings, on_gpu, config.vocabulary * config.hidden)
    dtype = torch.bfloat16 if fast and on_gpu else torch.float32
    weights = read_weights(base.model_folder, config, device, dtype)
    copies = {}
    if fast and not on_gpu:
        copies = {name: weights[f"{name}.weight"].bfloat16() for name in linear_names(config)}
    adapter = new_adapter(config, weights, settings.lora, settings.seed)
    model = Model(config, weights, adapter, settings.lora.alpha / settings.lora.rank, copies)
    return model, Head(model.head, settings.temperature, fast_copy(model.head) if fast else None)


def _is_fast(settings: LearnerSettings, on_gpu: bool, head_size: int) -> bool:
    if settings.precision != "auto":
        return settings.precision == "fast"
    return on_gpu or (head_size > _WIDE_HEAD and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))


def _metrics(tally: Tally, norm: float, seconds: float) -> StepMetrics:
    return StepMetrics(
        loss=tally.loss,
        grad_norm=norm,
        tokens=tally.tokens,
        k3=tally.mean(tally.k3),
        mean_abs_logratio=tally.mean(tally.abs_logratio),
        max_abs_logratio=tally.max_abs_logratio,
        capped_share=tally.mean(tally.capped),
        masked_share=tally.mean(tally.masked),
        entropy=tally.entropy / tally.entropy_rows if tally.entropy_rows else 0.0,
        updated=tally.contributing > 0,
        seconds=seconds,
    )
