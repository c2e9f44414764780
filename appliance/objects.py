"""Large blobs by SHA-256, zstd-compressed. A name appears only when its bytes are on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from appliance.errors import IntegrityError, NotFoundError, StoreError


def put(folder: Path, body: bytes) -> str:
    """Store `body` and return its SHA-256; storing it again is a no-op."""
    import zstandard

    digest = hashlib.sha256(body).hexdigest()
    target = _place(folder, digest)
    if target.exists():
        return digest
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_then_rename(target, zstandard.ZstdCompressor(level=3).compress(body))
    except OSError as error:
        raise StoreError(
            f"{target}: {error.strerror}", remedy="free disk space or check permissions"
        ) from error
    return digest


def get(folder: Path, digest: str) -> bytes:
    """Return the blob called `digest`, checked against its name."""
    import zstandard

    try:
        packed = _place(folder, digest).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(
            f"object {digest} is not in {folder}", remedy="restore it from a backup"
        ) from None
    body = zstandard.ZstdDecompressor().decompress(packed)
    if hashlib.sha256(body).hexdigest() != digest:
        raise IntegrityError(f"object {digest} in {folder} is damaged", remedy="restore it from a backup")
    return body


def _place(folder: Path, digest: str) -> Path:
    return folder / digest[:2] / f"{digest}.zst"


def _write_then_rename(target: Path, packed: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as stream:
        temporary = Path(stream.name)
        try:
            stream.write(packed)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    temporary.rename(target)
