"""A recipe: what to train, on what, for how long. A TOML file, versioned with the work."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance.config import Origins, load_toml, origins, read_table, setting
from appliance.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ModelSettings:
    gguf: str = setting(help="`starter`, or the path of a GGUF file (relative to the recipe)")
    policy: str = setting(
        "",
        form=r"([A-Za-z0-9][A-Za-z0-9._-]*(@[0-9]+)?)?",
        help="RUN or RUN@UPDATE: evaluate what that run trained; only with grpo.updates = 0",
    )


@dataclass(frozen=True, slots=True)
class TaskSettings:
    packs: tuple[str, ...] = setting(("starter",), help="names of shipped packs, or paths of pack folders")
    draw: str = setting(
        "adaptive",
        choices=("adaptive", "shuffled"),
        help="where the policy's outcome is least certain, by tiers and shares; or each task once per epoch",
    )
    approved_only: bool = setting(
        False, help="only tasks that were approved as they are now; else all but the quarantined and retired"
    )


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    harness: str = setting("complete", choices=("complete",), help="how a task becomes turns")
    temperature: float = setting(1.0, low=0.05, high=4.0, help="divides the logits while training")
    max_tokens: int = setting(48, low=1, high=4096, help="sampled tokens per turn at most")


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    attempts: int = setting(8, low=1, high=1024, help="attempts per eval task")
    temperature: float = setting(1.0, low=0.0, high=4.0, help="0 is greedy")
    every: int = setting(0, low=0, help="updates between evaluations; 0: only first and last")
    split: str = setting("eval", choices=("eval", "train", "canary", "all"), help="which tasks are evaluated")


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    updates: int = setting(20, low=0, help="updates to make")
    tasks_per_update: int = setting(8, low=1, high=1024, help="groups per update")
    attempts_per_task: int = setting(8, low=2, high=256, help="attempts per group")
    dynamic: int = setting(
        0, low=0, high=16, help="further draws of an update, each of as many tasks as groups were dead so far"
    )
    learning_rate: float = setting(1e-4, low=1e-9, high=1.0, help="AdamW step size")
    rank: int = setting(16, low=1, high=512, help="LoRA rank")
    alpha: float = setting(32.0, low=1e-3, help="LoRA alpha; the scale is alpha / rank")
    weight_cap: float = setting(2.0, low=1.0, help="cap of the truncated importance weight")
    grad_clip: float = setting(1.0, low=1e-6, help="largest norm of the gradient")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    audit_share: float = setting(
        0.0,
        low=0.0,
        high=1.0,
        help="share of the attempts that are examined once more under trace, for you to read; needs the extra `audit`",
    )


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    minutes: float = setting(
        0.0, low=0.0, help="training stops after the update that passes this; 0: no limit"
    )


@dataclass(frozen=True, slots=True)
class EngineTable:
    slots: int = setting(32, low=1, high=192, help="sequences decoded together")
    threads: int = setting(0, low=0, help="0: one per core")
    gpu_layers: int = setting(0, low=0, help="layers held by the GPU")


@dataclass(frozen=True, slots=True)
class LearnerTable:
    device: str = setting("auto", choices=("auto", "cpu", "cuda"), help="where updates are computed")
    threads: int = setting(0, low=0, help="0: one per core")


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str = setting(
        help="1 to 60 letters, digits, `-`, `_` or `.`; run ids begin with it",
        form=r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}",
    )
    seed: int = setting(0, low=0, high=2**31 - 1, help="every draw of the run derives from it")
    model: ModelSettings = field(default_factory=lambda: ModelSettings(gguf="starter"))
    tasks: TaskSettings = field(default_factory=TaskSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    grpo: GrpoSettings = field(default_factory=GrpoSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    engine: EngineTable = field(default_factory=EngineTable)
    learner: LearnerTable = field(default_factory=LearnerTable)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def load_recipe(path: Path, *, seed: int | None = None) -> tuple[Recipe, Origins]:
    """Read and check a recipe; `seed` is the typed flag, which beats the file."""
    data = load_toml(path)
    recipe = _anchored(read_table(Recipe, data, str(path)), path.parent)
    _check_model(recipe.model.gguf, path)
    flags = frozenset({"seed"} if seed is not None else ())
    if seed is not None:
        recipe = replace(recipe, seed=seed)
    return recipe, origins(Recipe, data, flags)


def _check_model(gguf: str, path: Path) -> None:
    if gguf == "starter" or Path(gguf).is_file():
        return
    wanted = "give the path of a GGUF file, relative to the recipe, or `starter`"
    raise ConfigError(f"{path}: 'model.gguf' names no file: {gguf}", remedy=wanted)


def recipe_from_json(data: dict[str, Any], source: str) -> Recipe:
    """Read back a resolved recipe, as a run folder stores it."""
    return read_table(Recipe, data, source)


def _anchored(recipe: Recipe, folder: Path) -> Recipe:
    """Make the paths in a recipe independent of where the program was started."""
    gguf = recipe.model.gguf
    if gguf != "starter":
        recipe = replace(
            recipe, model=replace(recipe.model, gguf=str((folder / Path(gguf).expanduser()).resolve()))
        )
    packs = tuple(str((folder / pack).resolve()) if _is_path(pack) else pack for pack in recipe.tasks.packs)
    return replace(recipe, tasks=replace(recipe.tasks, packs=packs))


def _is_path(pack: str) -> bool:
    return "/" in pack or pack.startswith(".")
