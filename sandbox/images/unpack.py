"""Putting layers into a folder, whoever made them.

Nothing is resolved by the kernel but single names: every entry's folder is reached from the root's descriptor, one
component at a time. Links on the way are followed by us, as if this root were the only one (`bin -> usr/bin` and then
`bin/tool` is ordinary), so that no entry can lead out, whatever an earlier one left there. What
an archive brings is brought down to what a jail can use: folders, regular files and links; no devices, no owners, no
set-id bits, no extended attributes, every file readable by all. All of it is counted against caps as it arrives.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from appliance.errors import SandboxError
from appliance.sandbox.images.links import MAX_PATH_BYTES, Parts, resolved
from appliance.sandbox.images.tar import CHUNK, Kind, Member, damaged

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
OTHERS = (b"BZh", b"\xfd7zX")
WHITEOUT, OPAQUE, AUFS = ".wh.", ".wh..wh..opq", ".wh..wh."
MAX_TARGET_BYTES = 4095
MAX_NAME_BYTES = 255
MAX_NOTES = 100
MAX_WINDOW_BYTES = 128 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Readable(Protocol):
    """What layers are read from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Caps:
    """What all layers of an image may amount to, together."""

    bytes: int = 32 << 30
    """After decompression, headers and padding too."""
    entries: int = 1_000_000
    depth: int = 64
    """Components of a path."""
    ratio: int = 200
    """Bytes after decompression for each before."""
    ratio_from: int = 64 << 20
    """Bytes after decompression from which on the ratio counts."""


class Meter:
    """What was unpacked so far, and what there is to say about it."""

    def __init__(self, caps: Caps) -> None:
        self.caps, self.bytes, self.entries = caps, 0, 0
        self.notes: list[str] = []
        self.more_notes = 0

    def add_bytes(self, count: int) -> None:
        self.bytes += count
        if self.bytes > self.caps.bytes:
            raise _too_much("bytes", self.caps.bytes)

    def add_entry(self) -> None:
        self.entries += 1
        if self.entries > self.caps.entries:
            raise _too_much("entries", self.caps.entries)

    def note(self, text: str) -> None:
        """Keep the first of them; names in it are as they came."""
        if len(self.notes) < MAX_NOTES:
            self.notes.append(text)
        else:
            self.more_notes += 1


def _too_much(what: str, cap: int) -> SandboxError:
    return SandboxError(
        f"the archive is refused: it unpacks to more than {cap} {what}",
        remedy="if it is meant to be that large, split it or leave parts out",
    )


class Inflated:
    """A layer's bytes, decompressed as its first bytes say, counted and hashed on the way."""

    def __init__(self, raw: Readable, meter: Meter) -> None:
        self._raw, self._meter = raw, meter
        self._taken = self._given = 0
        self._hash = hashlib.sha256()
        self._head = raw.read(4)
        self._errors: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
        self._plain = self._decompressor(self._head)

    def take(self, size: int = -1) -> bytes:
        """Bytes before decompression, for the decompressor."""
        size = CHUNK if size < 0 else size
        piece, self._head = (
            (self._head[:size], self._head[size:]) if self._head else (self._raw.read(size), b"")
        )
        self._taken += len(piece)
        return piece

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes, fewer at the end."""
        pieces, left = [], size
        while left and (piece := self._read_some(left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> None:
        while size > 0:
            piece = self._read_some(min(size, CHUNK))
            if not piece:
                raise damaged("it ends inside a file")
            size -= len(piece)

    def finish(self) -> str:
        """Read to the end; return the SHA-256 of everything after decompression, in hex."""
        while self._read_some(CHUNK):
            pass
        return self._hash.hexdigest()

    def _decompressor(self, head: bytes) -> Any:
        taker: Any = _Taker(self)
        if head.startswith(GZIP):
            return gzip.GzipFile(fileobj=taker, mode="rb")
        if head.startswith(ZSTD):
            import zstandard

            self._errors += (zstandard.ZstdError,)
            plain = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
            return plain.stream_reader(taker, read_across_frames=True)
        if head.startswith(OTHERS):
            remedy = "decompress it first, or use gzip or zstd"
            raise SandboxError("bzip2 and xz archives are not read", remedy=remedy)
        return taker

    def _read_some(self, size: int) -> bytes:
        try:
            piece: bytes = self._plain.read(min(size, CHUNK))
        except self._errors as error:
            raise damaged(f"its compression: {error}") from error
        self._given += len(piece)
        caps = self._meter.caps
        if self._given > caps.ratio_from and self._given > caps.ratio * self._taken:
            raise _too_much("bytes for each compressed one", caps.ratio)
        self._meter.add_bytes(len(piece))
        self._hash.update(piece)
        return piece


class _Taker:
    """What a decompressor reads from."""

    def __init__(self, source: Inflated) -> None:
        self.read = source.take


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins with these bytes is compressed in a way that is known here."""
    return head.startswith((GZIP, ZSTD, *OTHERS))


def split(name: str, depth: int) -> Parts:
    """The components of an entry's name; SandboxError for one that leads elsewhere or too deep."""
    if name.startswith("/"):
        raise damaged(f"the name {name!r} is absolute")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise damaged(f"the name {name!r} leads upwards")
    if len(parts) > depth:
        raise damaged(f"the name {name[:80]!r} is deeper than {depth}")
    if len(os.fsencode(name)) > MAX_PATH_BYTES or any(
        len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts
    ):
        raise damaged(f"the name {name[:80]!r} is too long")
    return parts


class Tree:
    """A folder that is being filled. Paths are components below it."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _FOLDER)

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)

    @contextmanager
    def folder(self, parts: Parts, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a folder; with `make`, missing ones are made. SandboxError when a link is in the way."""
        fd = os.open(".", _FOLDER, dir_fd=self._root)
        try:
            for part in parts:
                if make:
                    _make_folder(fd, part)
                try:
                    deeper = os.open(part, _FOLDER, dir_fd=fd)
                except OSError as error:
                    if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                        raise
                    raise damaged(f"the name {'/'.join(parts)!r} leads through a link or file") from None
                os.close(fd)
                fd = deeper
            yield fd
        finally:
            os.close(fd)

    def resolve(self, parts: Parts, depth: int) -> Parts:
        """Where a folder's path leads within this root; SandboxError as for `resolved`."""
        return resolved(parts, depth, self._target)

    def _target(self, parts: Parts) -> str | None:
        """Of a link, whose folder has no link in its path; None for everything else."""
        if not stat.S_ISLNK(self.kind(parts)):
            return None
        with self.folder(parts[:-1]) as fd:
            return os.readlink(parts[-1], dir_fd=fd)

    def kind(self, parts: Parts) -> int:
        """The type bits of what is there; 0 for nothing."""
        try:
            with self.folder(parts[:-1]) as fd:
                return stat.S_IFMT(os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return 0

    def names(self, parts: Parts) -> list[str]:
        """What a folder holds, sorted."""
        with self.folder(parts) as fd, os.scandir(fd) as entries:
            return sorted(entry.name for entry in entries)

    def remove(self, parts: Parts) -> None:
        """Whatever is there, with all below it; nothing when nothing is."""
        kind = self.kind(parts)
        if not kind:
            return
        with self.folder(parts[:-1]) as fd:
            if stat.S_ISDIR(kind):
                shutil.rmtree(parts[-1], dir_fd=fd)
            else:
                os.unlink(parts[-1], dir_fd=fd)

    def put(self, parts: Parts, member: Member, depth: int) -> Parts:
        """Make what `member` is, in place of what was there, and return where. A folder that is there stays.

        Links on the way are followed, as `tar` and container tools do, but within this root alone.
        """
        parts = (*self.resolve(parts[:-1], depth - 1), parts[-1])
        self._put(parts, member, depth)
        return parts

    def _put(self, parts: Parts, member: Member, depth: int) -> None:
        if member.kind is Kind.folder:
            if not stat.S_ISDIR(self.kind(parts)):
                self.remove(parts)
            with self.folder(parts, make=True):
                return
        # Looked at first: the name may be that of its own target.
        source = split(member.target, depth) if member.kind is Kind.hard_link else ()
        source = (*self.resolve(source[:-1], depth - 1), source[-1]) if source else ()
        if source == parts:
            return
        self.remove(parts)
        with self.folder(parts[:-1], make=True) as fd:
            if member.kind is Kind.file:
                _write(fd, parts[-1], member)
            elif member.kind is Kind.link:
                _link(fd, parts[-1], member.target)
            else:
                self._hard_link(source, fd, parts[-1])

    def _hard_link(self, source: Parts, fd: int, name: str) -> None:
        if not stat.S_ISREG(self.kind(source) if source else 0):
            raise damaged(f"a hard link's target {'/'.join(source)!r} is no file of the image")
        with self.folder(source[:-1]) as there:
            os.link(source[-1], name, src_dir_fd=there, dst_dir_fd=fd, follow_symlinks=False)


def _make_folder(fd: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=fd)
    except FileExistsError:
        return
    # Whatever the umask is. The folder is new and nobody else's, so that no link can be in its place.
    os.chmod(name, 0o755, dir_fd=fd)


def _write(fd: int, name: str, member: Member) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=fd), "wb") as file:
        while piece := member.body.read():
            file.write(piece)
        file.flush()
        # Owners are dropped, so what the owner could do, all can.
        os.fchmod(file.fileno(), 0o755 if member.mode & 0o111 else 0o644)
        # Compiled modules stay valid by the time of their source.
        os.utime(file.fileno(), (member.mtime_s, member.mtime_s))


def _link(fd: int, name: str, target: str) -> None:
    if not 0 < len(os.fsencode(target)) <= MAX_TARGET_BYTES:
        raise damaged(f"a link {name!r} has no target, or one that is too long")
    os.symlink(target, name, dir_fd=fd)


def apply(tree: Tree, layer: Iterable[Member], meter: Meter, *, whiteouts: bool = True) -> None:
    """Put one layer over what is there. With `whiteouts`, names that say so hide what lower layers brought."""
    made: set[Parts] = set()
    folded: dict[Parts, Parts] = {}
    for member in layer:
        meter.add_entry()
        parts = split(member.name, meter.caps.depth)
        try:
            if whiteouts and any(part.startswith(WHITEOUT) for part in parts):
                _white_out(tree, parts, member, made)
            elif parts:
                _put(tree, parts, member, made, folded, meter)
        except OSError as error:
            raise SandboxError(
                f"cannot unpack {member.name[:200]!r}: {error.strerror}",
                remedy="free space and files there, or import it elsewhere (APPLIANCE_HOME)",
            ) from error


def _put(
    tree: Tree, parts: Parts, member: Member, made: set[Parts], folded: dict[Parts, Parts], meter: Meter
) -> None:
    if member.kind is Kind.special:
        meter.note(f"left out a {member.kind}: {member.name!r}")
        return
    if parts in made and member.kind is not Kind.folder:
        meter.note(f"named twice, the last one counts: {member.name!r}")
    same = folded.setdefault(tuple(part.casefold() for part in parts), parts)
    if same != parts:
        meter.note(f"differs only in case: {member.name!r} and {'/'.join(same)!r}")
    for path in (parts, tree.put(parts, member, meter.caps.depth)):
        made.update(path[:length] for length in range(1, len(path) + 1))


def _white_out(tree: Tree, parts: Parts, member: Member, made: set[Parts]) -> None:
    """Hide one name or a whole folder, but never what the same layer brings."""
    *folder, name = parts
    hidden = name.removeprefix(WHITEOUT)
    if any(part.startswith(WHITEOUT) for part in folder) or member.kind is not Kind.file or member.size:
        raise damaged(f"the whiteout {member.name!r} is a {member.kind} or has contents")
    if name == OPAQUE:
        if folder and not stat.S_ISDIR(tree.kind(tuple(folder))):
            return
        for child in tree.names(tuple(folder)):
            _hide(tree, (*folder, child), made)
    elif name.startswith(AUFS):
        return
    elif hidden in ("", ".", ".."):
        raise damaged(f"the whiteout {member.name!r} names no entry of its folder")
    else:
        _hide(tree, (*folder, hidden), made)


def _hide(tree: Tree, parts: Parts, made: set[Parts]) -> None:
    if parts not in made:
        tree.remove(parts)
    elif stat.S_ISDIR(tree.kind(parts)):
        for child in tree.names(parts):
            _hide(tree, (*parts, child), made)
