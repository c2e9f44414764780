"""An adapter on disk: a GGUF file the engine can attach, and a folder peft can load.

The GGUF names its base's architecture, the alpha that llama.cpp divides by the rank, and the policy version, which
the engine checks after loading. Where the base stores the rows of q and k interleaved, the rows of B are interleaved
too; A never is. Both are written under a temporary name and renamed, so a reader never sees half a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.torch import save_file

from appliance.learn.architecture import LINEAR_NAMES, Family, interleave
from appliance.learn.model import Config
from appliance.learn.settings import LoraSettings

VERSION_KEY = "appliance.policy_version"


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """What is written: the tensors and everything a reader must know about them."""

    family: Family
    config: Config
    lora: LoraSettings
    tensors: Mapping[str, Any]
    version: str


def write_gguf(path: Path, adapter: AdapterFile) -> None:
    """Write the engine's file."""
    partial = path.with_name(path.name + ".partial")
    writer = gguf.GGUFWriter(partial, adapter.family.name)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, adapter.lora.alpha)
    writer.add_string(VERSION_KEY, adapter.version)
    for name, values in adapter.tensors.items():
        linear, _, half = name.rpartition(".")
        writer.add_tensor(f"{_gguf_name(linear)}.weight.{half}", _rows(adapter, linear, half, values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)


def write_peft(folder: Path, adapter: AdapterFile) -> None:
    """Write `adapter_model.safetensors` and `adapter_config.json`; the config comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, values in adapter.tensors.items():
        linear, _, half = name.rpartition(".")
        tensors[f"base_model.model.{linear}.{_PEFT_HALVES[half]}.weight"] = values.detach().cpu().contiguous()
    partial = folder / "adapter_model.safetensors.partial"
    save_file(tensors, partial, metadata={"format": "pt", VERSION_KEY: adapter.version})
    partial.replace(folder / "adapter_model.safetensors")
    config = json.dumps(_peft_config(adapter), indent=2, sort_keys=True) + "\n"
    (folder / "adapter_config.json").write_text(config)


_PEFT_HALVES = {"lora_a": "lora_A", "lora_b": "lora_B"}


def _gguf_name(linear: str) -> str:
    """`model.layers.3.mlp.up_proj` to `blk.3.ffn_up`."""
    _, _, layer, inner = linear.split(".", 3)
    return f"blk.{layer}.{LINEAR_NAMES[inner]}"


def _rows(adapter: AdapterFile, linear: str, half: str, values: Any) -> Any:
    rows = values.detach().cpu().float().numpy()
    if half == "lora_b" and adapter.family.permuted:
        if linear.endswith(".q_proj"):
            rows = interleave(rows, adapter.config.heads)
        elif linear.endswith(".k_proj"):
            rows = interleave(rows, adapter.config.heads_kv)
    return np.ascontiguousarray(rows)


def _peft_config(adapter: AdapterFile) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": adapter.lora.rank,
        "lora_alpha": adapter.lora.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "use_dora": False,
        "target_modules": sorted(name.rpartition(".")[2] for name in LINEAR_NAMES),
    }
