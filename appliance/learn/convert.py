"""A GGUF becomes a folder that transformers can load: `python -m appliance.learn.convert FILE.gguf FOLDER`.

Every number is the file's own: stored rows are put back into transformers' order and Gemma's norm offset is taken
off again, nothing else. The vocabulary is not converted; the engine owns the only tokenizer. Runs as a child
process of `appliance.learn.base`; a failure is one JSON object on stdout and exit code 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from appliance.errors import ModelError
from appliance.learn.architecture import (
    Family,
    Shape,
    family_of,
    shape_of,
    tensor_names,
    transformers_config,
    undo_interleave,
)
from appliance.learn.header import GgufHeader, TensorEntry, read_header, tensor_bytes

_Array = npt.NDArray[Any]


def convert(source: Path, folder: Path) -> None:
    """Write `config.json` and `model.safetensors` for `source` into `folder`."""
    header = read_header(source)
    names, config = tensor_names(header), transformers_config(header)
    folder.mkdir(parents=True, exist_ok=True)
    weights = read_weights(header, names)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def read_weights(header: GgufHeader, names: dict[str, str]) -> dict[str, _Array]:
    """Return every tensor in float32, named and laid out for transformers."""
    family, shape = family_of(header), shape_of(header)
    data = np.memmap(header.path, np.uint8, mode="r")
    weights = {}
    for name, entry in header.tensors.items():
        values = _dequantised(data, entry)
        weights[names[name]] = np.ascontiguousarray(_relaid(values, name, family, shape))
    return weights


def _relaid(values: _Array, name: str, family: Family, shape: Shape) -> _Array:
    if family.permuted and ".attn_q." in name:
        return np.asarray(undo_interleave(values, shape.heads))
    if family.permuted and ".attn_k." in name:
        return np.asarray(undo_interleave(values, shape.heads_kv))
    if family.norm_offset and name.endswith("norm.weight"):
        return values - np.float32(family.norm_offset)
    return values


def _dequantised(data: _Array, entry: TensorEntry) -> _Array:
    raw = data[entry.offset : entry.offset + tensor_bytes(entry)]
    kind = gguf.GGMLQuantizationType(entry.type_id)
    if kind == gguf.GGMLQuantizationType.F32:
        return raw.view(np.float32).reshape(entry.shape)
    rows = raw.reshape(entry.shape[0], -1) if len(entry.shape) > 1 else raw
    values: _Array = gguf.dequantize(rows, kind).astype(np.float32, copy=False)
    return values.reshape(entry.shape)


def main(arguments: list[str]) -> int:
    """Convert as told by the command line."""
    source, folder = arguments
    try:
        convert(Path(source), Path(folder))
    except ModelError as error:
        print(json.dumps({"error": error.message, "remedy": error.remedy}))
        return 1
    except OSError as error:
        print(json.dumps({"error": f"{folder}: {error}", "remedy": "free disk space and try again"}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
