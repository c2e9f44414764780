"""The head of a GGUF file, read in milliseconds with the standard library alone.

It answers what a file is (metadata, tensor table) and whether it is whole, before any heavy process is started.
The bodies of arrays are skipped, only their length is kept: a vocabulary of 262k strings would otherwise cost
seconds. Refused with a ModelError: anything that is not GGUF version 2 or 3, sizes that point outside the file,
and a file that ends before its last tensor does.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import ModelError

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING = 8
_ARRAY = 9
_MAX_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32

FETCH_AGAIN = "the file is damaged or was not copied completely; copy it again and compare its SHA-256"


@dataclass(frozen=True, slots=True)
class ArrayLength:
    """Stands for an array whose body was skipped."""

    count: int


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One row of the tensor table."""

    name: str
    shape: tuple[int, ...]
    """Row-major, the way numpy and torch print it."""
    type_id: int
    offset: int
    """From the start of the file."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What the head of the file says."""

    path: Path
    architecture: str
    metadata: Mapping[str, Any]
    tensors: Mapping[str, TensorEntry]

    @property
    def parameters(self) -> int:
        return sum(_elements(entry.shape) for entry in self.tensors.values())


def read_header(path: Path) -> GgufHeader:
    """Read and check the head of `path`; the file must be complete."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(path, data)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such model file", remedy="check `model` in the recipe") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: the model file cannot be read: {error}", remedy=FETCH_AGAIN) from None


class _Cursor:
    """A reading position in the mapped file; every read is checked against its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.position = 0

    def scalar(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self._data):
            raise ValueError("the file ends inside its own header")
        body = self._data[self.position : end]
        self.position = end
        return body

    def string(self) -> str:
        return self.take(self.scalar("Q")).decode("utf-8", errors="replace")

    def skip_strings(self, count: int) -> None:
        length_at = struct.Struct("<Q").unpack_from
        position, size = self.position, len(self._data)
        for _ in range(count):
            if position + 8 > size:
                raise ValueError("the file ends inside its own header")
            position += 8 + length_at(self._data, position)[0]
        self.position = position

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            raise ValueError(f"metadata type {kind} is not known")
        return self.scalar(_SCALARS[kind])

    def _array(self) -> ArrayLength:
        kind, count = self.scalar("I"), self.scalar("Q")
        if kind == _STRING:
            self.skip_strings(count)
        elif kind in _SCALARS:
            self.take(count * struct.calcsize("<" + _SCALARS[kind]))
        else:
            raise ValueError(f"an array of metadata type {kind} is not supported")
        return ArrayLength(count)


def _parse(path: Path, data: mmap.mmap) -> GgufHeader:
    cursor = _Cursor(data)
    if cursor.take(4) != b"GGUF":
        raise ValueError("it does not begin with the letters GGUF")
    if (version := cursor.scalar("I")) not in (2, 3):
        raise ValueError(f"GGUF version {version} is not supported, only 2 and 3")
    tensor_count, key_count = cursor.scalar("Q"), cursor.scalar("Q")
    metadata: dict[str, Any] = {}
    for _ in range(key_count):
        name = cursor.string()
        metadata[name] = cursor.value(cursor.scalar("I"))
    rows = [_tensor_row(cursor) for _ in range(tensor_count)]
    alignment = int(metadata.get("general.alignment", _DEFAULT_ALIGNMENT))
    if alignment < 1:
        raise ValueError("general.alignment is not positive")
    start = -(-cursor.position // alignment) * alignment
    tensors = {name: TensorEntry(name, shape, kind, start + at) for name, shape, kind, at in rows}
    for entry in tensors.values():
        if entry.offset + tensor_bytes(entry) > len(data):
            raise ValueError(f"it ends before the end of tensor {entry.name}: the file is truncated")
    return GgufHeader(path, str(metadata.get("general.architecture", "")), metadata, tensors)


def _tensor_row(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    if (dimensions := cursor.scalar("I")) > _MAX_DIMENSIONS:
        raise ValueError(f"tensor {name} has {dimensions} dimensions")
    shape = tuple(cursor.scalar("Q") for _ in range(dimensions))
    return name, shape[::-1], cursor.scalar("I"), cursor.scalar("Q")


def tensor_bytes(entry: TensorEntry) -> int:
    """Return how many bytes the tensor takes in the file."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block, size = GGML_QUANT_SIZES[GGMLQuantizationType(entry.type_id)]
    except (ValueError, KeyError):
        raise ValueError(f"tensor {entry.name} has the unknown weight type {entry.type_id}") from None
    return _elements(entry.shape) // int(block) * int(size)


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count
