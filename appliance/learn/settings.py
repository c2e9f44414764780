"""What the learner is told and what it answers: plain records, shared by the client and the process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from appliance.errors import ConfigError

Precision = Literal["auto", "exact", "fast"]
"""How products are rounded.

`exact`: float32 throughout. `fast`: on a CPU the layers run forward in float32, while the output matrix and the whole
backward pass use bfloat16 products; on CUDA the base itself is bfloat16. `auto`: `fast` on CUDA and, for an output
matrix of more than 16 million numbers, on a CPU with bfloat16 instructions. LoRA weights are always float32.
"""


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """The shape of the adapter: all seven matrices of every layer, effective scale alpha / rank."""

    rank: int = 16
    alpha: float = 32.0

    def __post_init__(self) -> None:
        if self.rank < 1 or not self.alpha > 0:
            raise ConfigError(f"lora: rank {self.rank} and alpha {self.alpha} must both be positive")


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """Everything a learner process is started with."""

    base: str
    """Folder made by `appliance.learn.base.prepare`."""
    lora: LoraSettings = field(default_factory=LoraSettings)
    learning_rate: float = 5e-5
    seed: int = 0
    device: str = "auto"
    """`auto` is CUDA when there is one, else the CPU."""
    threads: int = 0
    """0 leaves it to torch: one per physical core."""
    weight_cap: float = 2.0
    """Truncated importance weight: min(ratio, cap)."""
    token_mask: tuple[float, float] = (0.5, 2.0)
    """A token whose ratio lies outside carries no gradient."""
    grad_clip: float = 1.0
    temperature: float = 1.0
    """The one the engine sampled with."""
    precision: Precision = "auto"
    micro_tokens: int = 1024
    """Completion tokens whose activations are held at once."""

    def __post_init__(self) -> None:
        low, high = self.token_mask
        checks = {
            "learning_rate": math.isfinite(self.learning_rate) and self.learning_rate > 0,
            "weight_cap": self.weight_cap > 0,
            "token_mask": 0 <= low < high,
            "grad_clip": self.grad_clip > 0,
            "temperature": math.isfinite(self.temperature) and self.temperature > 0,
            "precision": self.precision in ("auto", "exact", "fast"),
            "micro_tokens": self.micro_tokens > 0,
            "threads": self.threads >= 0,
        }
        for name, good in checks.items():
            if not good:
                raise ConfigError(f"learner: {name} = {getattr(self, name)!r} is out of range")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LearnerSettings:
        fields = dict(data)
        low, high = fields["token_mask"]
        return cls(**fields | {"lora": LoraSettings(**fields["lora"]), "token_mask": (low, high)})


@dataclass(frozen=True, slots=True)
class LearnerInfo:
    """What the process found."""

    architecture: str
    base_fingerprint: str
    device: str
    precision: str
    threads: int
    torch: str
    trainable: int
    """Number of LoRA parameters."""
    vocabulary: int


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """One update. Log-ratios are learner minus engine, before the update; shares are of `tokens`."""

    loss: float
    grad_norm: float
    """Before clipping."""
    tokens: int
    """Completion tokens with a non-zero advantage: only these are looked at."""
    k3: float
    """Mean of ratio − 1 − log ratio: the divergence from the engine's distribution."""
    mean_abs_logratio: float
    max_abs_logratio: float
    capped_share: float
    masked_share: float
    entropy: float
    """Mean over a subsample of the tokens, in nats."""
    updated: bool
    """False when no token carried a gradient; nothing was changed then."""
    seconds: float
