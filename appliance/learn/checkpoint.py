"""The learner's state on disk: LoRA weights, optimiser, random state, step; safetensors and JSON only.

Written into a folder beside the target, `state.json` with the hashes last, then renamed into place: a folder of the
right name is complete, or the disk lies. Loading compares every hash and refuses a state made from another base or
of another shape.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from appliance.errors import IntegrityError, NotFoundError

FORMAT = 1
_TENSORS = ("adapter.safetensors", "optimiser.safetensors")
_MARKER = "state.json"
_RANDOM_STATE = "random_state"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a state belongs to; a state is loaded only into an equal one."""

    base: str
    rank: int
    alpha: float


def save(folder: Path, adapter: Mapping[str, Any], optimiser: Any, identity: Identity, step: int) -> None:
    """Write the state, replacing an earlier one of the same name."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    contents = ({name: values.detach() for name, values in adapter.items()}, _moments(adapter, optimiser))
    for name, tensors in zip(_TENSORS, contents, strict=True):
        save_file(tensors, partial / name)
        _sync(partial / name)
    state = {
        "format": FORMAT,
        "base": identity.base,
        "rank": identity.rank,
        "alpha": identity.alpha,
        "step": step,
        "sha256": {name: _sha256(partial / name) for name in _TENSORS},
    }
    (partial / _MARKER).write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")
    _sync(partial / _MARKER)
    _sync(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.replace(folder)
    _sync(folder.parent)


def load(folder: Path, adapter: Mapping[str, Any], optimiser: Any, identity: Identity) -> int:
    """Put the state into `adapter` and `optimiser`; return the step."""
    state = _read_state(folder)
    _compare(folder, state, identity)
    for name, digest in state["sha256"].items():
        if _sha256(folder / name) != digest:
            raise IntegrityError(
                f"{folder / name}: the file does not have the recorded SHA-256",
                remedy=f"delete {folder.parent} to resume from the checkpoint before it",
            )
    tensors = [load_file(folder / name) for name in _TENSORS]
    with torch.no_grad():
        for name, values in adapter.items():
            values.copy_(tensors[0][name])
    torch.set_rng_state(tensors[1].pop(_RANDOM_STATE))
    _restore_moments(adapter, optimiser, tensors[1])
    return int(state["step"])


def _read_state(folder: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((folder / _MARKER).read_text())
    except FileNotFoundError:
        raise NotFoundError(f"{folder}: there is no complete learner state here") from None
    except ValueError as error:
        raise IntegrityError(f"{folder / _MARKER}: not JSON: {error}") from None
    return state


def _compare(folder: Path, state: Mapping[str, Any], identity: Identity) -> None:
    wanted = {"format": FORMAT, "base": identity.base, "rank": identity.rank, "alpha": identity.alpha}
    for name, value in wanted.items():
        if state.get(name) != value:
            raise IntegrityError(
                f"{folder / _MARKER}: {name} is {state.get(name)!r}, this learner has {value!r}",
                remedy="resume with the model and the lora settings the run was started with",
            )


def _moments(adapter: Mapping[str, Any], optimiser: Any) -> dict[str, Any]:
    tensors = {_RANDOM_STATE: torch.get_rng_state()}
    for name, parameter in adapter.items():
        for key, values in optimiser.state.get(parameter, {}).items():
            tensors[f"{name}.{key}"] = values.detach()
    return tensors


def _restore_moments(adapter: Mapping[str, Any], optimiser: Any, tensors: Mapping[str, Any]) -> None:
    optimiser.state.clear()
    for full_name, values in tensors.items():
        name, _, key = full_name.rpartition(".")
        parameter = adapter[name]
        # The step counter lives on the CPU whatever the device is.
        optimiser.state[parameter][key] = values if key == "step" else values.to(parameter.device)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
