"""Images as others hand them over: an OCI layout or a `docker save` in a tar file, or a plain tar of a root.

Everything that has a digest is checked against it before anything is unpacked, and what a layer unpacks to is
checked once more while it is unpacked. Names in the archive are only looked up in its own table of members, so that
none of them is ever a path of the host.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from appliance.clean import clean_line
from appliance.errors import IntegrityError, NotFoundError, SandboxError
from appliance.sandbox.images.tar import CHUNK, FETCH_AGAIN, Kind, damaged, members
from appliance.sandbox.images.unpack import Caps, Inflated, Meter, Tree, apply, is_compressed

T = TypeVar("T")
MAX_JSON_BYTES = 4 << 20
MAX_LAYERS = 512
MAX_NESTING = 4
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""As Python and as container tools call them."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A stretch of the archive file."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, lowest first."""

    blob: Blob
    diff_id: str
    """Digest of what it decompresses to; empty when the archive does not say."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive holds, its manifest, configuration and layers checked."""

    kind: str
    """`oci`, `docker` or `tar`."""
    layers: tuple[Layer, ...]
    search_path: str = ""
    """PATH of its configuration; empty when it has none."""


class Window:
    """A blob as a file to read from, without moving the archive's own position."""

    def __init__(self, file: IO[bytes], blob: Blob) -> None:
        self._fd, self._next, self._end = file.fileno(), blob.offset, blob.offset + blob.size

    def read(self, size: int) -> bytes:
        piece = os.pread(self._fd, max(0, min(size, self._end - self._next)), self._next)
        self._next += len(piece)
        return piece


@contextmanager
def opened(path: Path, scratch: Path, caps: Caps) -> Iterator[IO[bytes]]:
    """The archive as a plain tar file; a compressed one is decompressed below `scratch`, under no name."""
    if not path.is_file():
        remedy = (
            "give one file; a folder is made an image by: appliance image build --from FOLDER --name NAME"
        )
        raise NotFoundError(f"no archive at {path}", remedy=remedy)
    with path.open("rb") as file, tempfile.TemporaryFile(dir=scratch) as copy:
        compressed = is_compressed(file.read(4))
        file.seek(0)
        if not compressed:
            yield file
            return
        plain = Inflated(file, Meter(caps))
        while piece := plain.read(CHUNK):
            copy.write(piece)
        copy.flush()
        copy.seek(0)
        yield copy


def read_contents(file: IO[bytes], caps: Caps) -> Contents:
    """What is in the archive. IntegrityError for a wrong digest, SandboxError for everything else."""
    index = _index(file, caps)
    if "oci-layout" in index and "index.json" in index:
        return _oci(file, index)
    if "manifest.json" in index:
        return _docker(file, index)
    return Contents("tar", (Layer(Blob(0, os.fstat(file.fileno()).st_size), ""),))


def unpack(file: IO[bytes], contents: Contents, tree: Tree, meter: Meter) -> None:
    """Put every layer into `tree`. IntegrityError when one unpacks to something else than its digest says."""
    for layer in contents.layers:
        plain = Inflated(Window(file, layer.blob), meter)
        apply(tree, members(plain.read, plain.skip), meter, whiteouts=contents.kind != "tar")
        seen = f"sha256:{plain.finish()}"
        if layer.diff_id and seen != layer.diff_id:
            raise mismatch("a layer, decompressed,", layer.diff_id, seen)


def mismatch(what: str, wanted: str, seen: str) -> IntegrityError:
    return IntegrityError(f"the archive is refused: {what} is not {wanted} but {seen}", remedy=FETCH_AGAIN)


def _index(file: IO[bytes], caps: Caps) -> dict[str, Blob]:
    """Member name to its bytes; of two with one name the last counts. Links within the archive are resolved."""
    found: dict[str, Blob] = {}
    links: dict[str, str] = {}
    end = os.fstat(file.fileno()).st_size

    def skip(size: int) -> None:
        # A size may be more than any file can have, and no place to seek to.
        if size > end - file.tell():
            raise damaged("it ends inside a file")
        file.seek(size, os.SEEK_CUR)

    for member in members(file.read, skip):
        name = posixpath.normpath(member.name)
        if member.kind is Kind.file:
            found[name] = Blob(file.tell(), member.size)
        elif member.kind is Kind.link:
            links[name] = posixpath.normpath(posixpath.join(posixpath.dirname(name), member.target))
        if len(found) + len(links) > caps.entries:
            raise damaged(f"it has more than {caps.entries} entries")
    return {**{name: found[target] for name, target in links.items() if target in found}, **found}


def _oci(file: IO[bytes], index: Mapping[str, Blob]) -> Contents:
    document = _json(file, _member(index, "index.json"))
    for _ in range(MAX_NESTING):
        if "manifests" not in document:
            break
        document = _json(file, _checked(file, index, _chosen(document)))
    config = _json(file, _checked(file, index, _get(document, "config", dict)))
    blobs = [_checked(file, index, _typed(entry, dict)) for entry in _get(document, "layers", list)]
    return _contents("oci", config, blobs)


def _chosen(document: Mapping[str, Any]) -> dict[str, Any]:
    """The one image of an index that is for this machine."""
    found = [entry for entry in map(_descriptor, _get(document, "manifests", list)) if _fits(entry)]
    if len(found) != 1:
        raise SandboxError(
            f"the archive holds {len(found)} images for this machine", remedy="export the one that is meant"
        )
    return found[0]


def _descriptor(entry: Any) -> dict[str, Any]:
    return _typed(entry, dict)


def _fits(entry: Mapping[str, Any]) -> bool:
    """Whether an image is not marked as one for other machines, or as a statement about another image."""
    for_what = entry.get("platform")
    if not isinstance(for_what, dict):
        return True
    return for_what.get("os") == "linux" and for_what.get("architecture") == _architecture()


def _docker(file: IO[bytes], index: Mapping[str, Blob]) -> Contents:
    listed = _json(file, _member(index, "manifest.json"), list)
    if len(listed) != 1:
        raise SandboxError(f"the archive holds {len(listed)} images", remedy="docker save one image")
    manifest = _typed(listed[0], dict)
    name = _get(manifest, "Config", str)
    blob = _member(index, name)
    digest = f"sha256:{posixpath.basename(name).removesuffix('.json')}"
    if _DIGEST.fullmatch(digest) and (seen := _digest(file, blob)) != digest:
        raise mismatch("its configuration", digest, seen)
    blobs = [_member(index, _typed(layer, str)) for layer in _get(manifest, "Layers", list)]
    return _contents("docker", _json(file, blob), blobs)


def _contents(kind: str, config: Mapping[str, Any], blobs: list[Blob]) -> Contents:
    """Layers with the digests that the configuration gives them."""
    architecture = config.get("architecture", "")
    if architecture not in ("", _architecture()):
        raise SandboxError(
            f"the image is for {clean_line(str(architecture), 40)}, this machine is {_architecture()}",
            remedy="export it for this machine",
        )
    diff_ids = [_typed(item, str) for item in _get(_get(config, "rootfs", dict), "diff_ids", list)]
    if len(diff_ids) != len(blobs) or len(blobs) > MAX_LAYERS or not all(map(_DIGEST.fullmatch, diff_ids)):
        raise damaged(f"{len(blobs)} layers and {len(diff_ids)} digests of layers do not go together")
    layers = tuple(Layer(blob, diff_id) for blob, diff_id in zip(blobs, diff_ids, strict=True))
    return Contents(kind, layers, _search_path(config))


def _search_path(config: Mapping[str, Any]) -> str:
    section = config.get("config")
    variables = section.get("Env") if isinstance(section, dict) else None
    for variable in variables if isinstance(variables, list) else []:
        if isinstance(variable, str) and variable.startswith("PATH=") and "\0" not in variable:
            return variable.removeprefix("PATH=")[:4096]
    return ""


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _member(index: Mapping[str, Blob], name: str) -> Blob:
    if posixpath.normpath(name) not in index:
        raise damaged(f"it lacks {name}")
    return index[posixpath.normpath(name)]


def _checked(file: IO[bytes], index: Mapping[str, Blob], descriptor: Mapping[str, Any]) -> Blob:
    """The blob that a descriptor names, of that size and with that digest."""
    digest = _get(descriptor, "digest", str)
    if not _DIGEST.fullmatch(digest):
        raise damaged(f"the digest {digest!r} is none that is known here")
    blob = _member(index, f"blobs/sha256/{digest.removeprefix('sha256:')}")
    if blob.size != _get(descriptor, "size", int):
        raise mismatch(f"the size of {digest}", str(descriptor["size"])[:40], str(blob.size))
    if (seen := _digest(file, blob)) != digest:
        raise mismatch("a blob", digest, seen)
    return blob


def _digest(file: IO[bytes], blob: Blob) -> str:
    digest, window = hashlib.sha256(), Window(file, blob)
    while piece := window.read(CHUNK):
        digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def _json(file: IO[bytes], blob: Blob, kind: type[Any] = dict) -> Any:
    if blob.size > MAX_JSON_BYTES:
        raise damaged(f"a document has {blob.size} bytes, {MAX_JSON_BYTES} allowed")
    try:
        return _typed(json.loads(Window(file, blob).read(blob.size)), kind)
    except (ValueError, RecursionError) as error:
        raise damaged(f"a document is no JSON: {error}") from error


def _get(document: Mapping[str, Any], name: str, kind: type[T]) -> T:
    return _typed(document.get(name), kind)


def _typed(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise damaged(f"a document holds {str(value)[:80]!r} where {kind.__name__} belongs")
    return value
