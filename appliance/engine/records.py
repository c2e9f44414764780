"""What crosses the pipe between the engine process and its client, and how it is written as JSON.

No numpy and no llama.cpp here: the client side of the engine stays light.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from appliance.errors import ApplianceError, EngineError, ModelError
from appliance.nouns import Sampling, StopReason

VERSION_KEY = "appliance.policy_version"
"""GGUF key of an adapter file that holds the policy version it was written for."""

MAX_SLOTS = 192
MAX_SEED = 2**128 - 1


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How to open a model. Zero means: chosen by the engine."""

    model: str
    """Path of the GGUF file."""
    slots: int = 32
    """Sequences decoded at once; more requests than slots wait their turn."""
    context: int = 0
    """KV cells in all, shared by everything; 0 gives 512 per slot and 4096 for cached prompts."""
    threads: int = 0
    """0 = physical cores this process may use."""
    gpu_layers: int = 0
    """Layers kept on the GPU; negative = all."""
    base_version: str = "base"
    """Policy version while no adapter is set."""
    extra_buffers: bool = False
    """Let llama.cpp repack weights for AMX and the like. F32 files do not use it; for a quantised file it is
    about twice as fast where `python -m appliance.engine.probe --extra-buffers MODEL` survives, and a crash
    where the library was built by a compiler that breaks it."""
    exact: bool = False
    """Attention in F32 throughout: log-probabilities of an F32 file agree with F32 torch to 1e-6 instead of 1e-3,
    at twice the cache memory and a slower decode (every step looks at the cells of all sequences)."""
    hold_s: float = 0.5
    """How long a batch waits for a missing member, counted from its last arrival, before it goes on without."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What was opened."""

    build: str
    """Version of llama-cpp-python and a hash of llama.cpp's own description of its build."""
    architecture: str
    n_vocab: int
    n_ctx: int
    """KV cells in all."""
    slots: int
    bos: int
    """-1 when the vocabulary has none."""
    end_ids: tuple[int, ...]
    """Every id that ends a text."""
    add_bos: bool
    """Whether the file says that a text starts with `bos`."""
    threads: int = 1
    n_ctx_train: int = 0
    """No sequence grows beyond this."""
    file_type: int = 0
    """llama.cpp's number for the weight format; 0 is F32."""


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """Where a request stands in a batch: members are admitted strictly in index order.

    A batch is opened once all `size` members have arrived, so what is decoded together does not depend on
    which thread was faster. When a member stays away longer than `hold_s` the batch goes on without it.
    """

    batch: str
    index: int
    size: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What was sampled. `ids` includes an end token and the token that completed a stop string."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Per id, under the exact distribution it was drawn from (0.0 for greedy: nothing else could be drawn)."""
    stop_reason: StopReason
    text: bytes
    """The whole text of `ids`; control tokens have none."""
    trimmed: bytes
    """`text` cut before the stop string."""
    policy_version: str
    prefill_tokens: int
    """Prompt tokens evaluated for this request; 0 when the prompt's KV was there already."""
    seconds: float
    """From admission to the last token."""


def completion_to_json(completion: Completion) -> dict[str, Any]:
    fields = asdict(completion)
    fields["text"] = completion.text.decode("latin-1")
    fields["trimmed"] = completion.trimmed.decode("latin-1")
    return fields


def completion_from_json(fields: Mapping[str, Any]) -> Completion:
    return Completion(
        **{
            **fields,
            "ids": tuple(fields["ids"]),
            "logprobs": tuple(fields["logprobs"]),
            "text": fields["text"].encode("latin-1"),
            "trimmed": fields["trimmed"].encode("latin-1"),
        }
    )


def info_from_json(fields: Mapping[str, Any]) -> EngineInfo:
    return EngineInfo(**{**fields, "end_ids": tuple(fields["end_ids"])})


def sampling_from_json(fields: Mapping[str, Any]) -> Sampling:
    return Sampling(**{**fields, "stop": tuple(fields["stop"])})


def error_to_json(error: ApplianceError) -> dict[str, str]:
    return {"kind": error.kind, "message": error.message, "remedy": error.remedy}


def error_from_json(fields: Mapping[str, str]) -> ApplianceError:
    found = ModelError if fields["kind"] == ModelError.kind else EngineError
    return found(fields["message"], remedy=fields["remedy"])
