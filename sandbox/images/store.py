"""The store of images: what there is, under which names, and whether it still is what it was.

An image is a folder with a marker; a name is a small file below `.names` that holds a digest. Nothing here makes an
image. Whoever runs jails on one holds it (`hold`, `use`), and what is held is never collected.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.errors import ApplianceError, IntegrityError, NotFoundError, SandboxError, UsageError
from appliance.sandbox.image import (
    LOCK,
    MARKER,
    PARTIAL,
    About,
    Image,
    Interpreter,
    host_key,
    measure,
    own_interpreter,
    prepare,
    read_marker,
    stamp_of,
    write_marker,
)

NAMES = ".names"
SHORTEST_PREFIX = 4
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}(:[a-z0-9._-]{1,64})?")
_DIGEST = re.compile(r"(sha256:)?([0-9a-f]{1,64})")
_MAKE_AGAIN = "appliance image gc, then make it again: appliance image build or import"


@dataclass(frozen=True, slots=True)
class Stored:
    """A complete image of the store."""

    image: Image
    about: About
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """What `collect` removed, or would."""

    images: tuple[str, ...]
    """Folder names; of images with their digest."""
    in_use: tuple[str, ...]
    """Unnamed images that are held."""


def check_name(name: str) -> None:
    """UsageError for a name that no image can have, or that could be taken for a digest."""
    if not _NAME.fullmatch(name) or name.startswith("sha256:"):
        raise UsageError(
            f"{name!r} is no name for an image",
            remedy="use up to 64 small letters, digits, dots, dashes and underscores, with a :tag if you like",
        )


def assign(images: Path, name: str, digest: str) -> None:
    """Let `name` mean the image with `digest` from now on."""
    check_name(name)
    folder = images / NAMES
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{name}.{os.getpid()}"
    aside.write_text(f"{digest}\n")
    aside.replace(folder / name)


def names(images: Path) -> dict[str, str]:
    """Every name with the digest that it means, sorted."""
    folder = images / NAMES
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_text().strip() for path in paths if not path.name.startswith(".")}


def listing(images: Path) -> list[Stored]:
    """Every complete image whose marker can be read, named ones first."""
    meant, found = names(images), []
    for folder in _complete(images):
        try:
            image, about = read_marker(folder)
        except (OSError, IntegrityError):
            continue
        mine = tuple(name for name, digest in meant.items() if digest == image.digest)
        found.append(Stored(image, about, mine))
    return sorted(found, key=lambda stored: (not stored.names, stored.names, stored.image.key))


def damaged(images: Path) -> dict[str, str]:
    """Folders that once were images and have no marker that can be read, by name, each with what is wrong."""
    found = {}
    for folder in _complete(images):
        try:
            read_marker(folder)
        except FileNotFoundError:
            found[folder.name] = f"its {MARKER} is missing"
        except OSError as error:
            found[folder.name] = f"its {MARKER}: {error.strerror}"
        except IntegrityError as error:
            found[folder.name] = error.message
    return found


def find(images: Path, reference: str) -> Image:
    """The image that a name, a digest or the beginning of one means; NotFoundError, naming what comes near."""
    return find_stored(images, reference).image


def find_stored(images: Path, reference: str) -> Stored:
    """As `find`, with what else is known."""
    there, meant = listing(images), names(images)
    wanted = meant.get(reference, "")
    digit = _DIGEST.fullmatch(reference)
    if not wanted and digit and (digit[1] or len(digit[2]) >= SHORTEST_PREFIX):
        wanted = f"sha256:{digit[2]}"
    found = {
        stored.image.digest: stored for stored in there if wanted and stored.image.digest.startswith(wanted)
    }
    if len(found) > 1:
        raise UsageError(
            f"{reference} is the beginning of {len(found)} digests",
            remedy=f"one of: {', '.join(sorted(found))}",
        )
    # A digest names the folder of an image; that of the host's own goes by another name, and cannot be told.
    broken = damaged(images) if not found and wanted else {}
    for folder, why in broken.items():
        if folder.replace("-", ":", 1).startswith(wanted) or reference in meant:
            raise IntegrityError(f"the image {reference} is damaged: {folder}: {why}", remedy=_MAKE_AGAIN)
    if not found:
        raise NotFoundError(f"no image {reference!r}", remedy=_nearest(reference, there))
    return next(iter(found.values()))


def _nearest(reference: str, there: list[Stored]) -> str:
    known = [name for stored in there for name in stored.names] + [stored.image.digest for stored in there]
    near = difflib.get_close_matches(reference, known, n=3, cutoff=0.5) or known[:3]
    return f"did you mean {' or '.join(near)}?" if near else "make one: appliance image build"


@contextmanager
def hold(image: Image) -> Iterator[None]:
    """Keep an image from being collected; NotFoundError when it is gone already."""
    folder = Path(image.root).parent
    try:
        fd = _locked(folder, fcntl.LOCK_SH)
    except FileNotFoundError:
        raise NotFoundError(f"the image {image.digest} is gone", remedy=_MAKE_AGAIN) from None
    try:
        yield
    finally:
        os.close(fd)


def _locked(folder: Path, how: int) -> int:
    """A descriptor of the folder with a lock on it; FileNotFoundError when it was removed while we waited."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, how)
        if not os.path.samestat(os.fstat(fd), folder.stat()):
            raise FileNotFoundError(folder)
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def use(images: Path, reference: str) -> Iterator[Image]:
    """Find, hold and check an image. IntegrityError when its contents are not those of its digest.

    Its files are only read again when their times or inodes are not those at which they were last read.
    """
    with _checked(find_stored(images, reference)) as image:
        yield image


@contextmanager
def use_own(images: Path, interpreter: Interpreter) -> Iterator[Image]:
    """The same for the image that jails get without asking, which is made when there is none."""
    folder = Path(prepare(images, interpreter).root).parent
    with _checked(Stored(*read_marker(folder), ("default",))) as image:
        yield image


@contextmanager
def _checked(stored: Stored) -> Iterator[Image]:
    with hold(stored.image):
        if _is_changed(stored):
            raise _changed(stored)
        yield stored.image


def _changed(stored: Stored) -> IntegrityError:
    label = " ".join(stored.names) or stored.image.key
    return IntegrityError(f"the image {label} is not what {stored.image.digest} was", remedy=_MAKE_AGAIN)


def digest_seen(stored: Stored) -> str:
    """The digest of what is there now; when it is the right one, the stamp is made to fit again."""
    found = measure(Path(stored.image.root))
    if found.digest == stored.image.digest and found.stamp != stored.about.stamp:
        _restamp(stored, found.stamp)
    return found.digest


def _restamp(stored: Stored, stamp: str) -> None:
    """Only who may write there can; to others the image stays good and slow."""
    folder = Path(stored.image.root).parent
    if os.access(folder / MARKER, os.W_OK):
        write_marker(folder, stored.image, replace(stored.about, stamp=stamp))


def collect(images: Path, *, dry_run: bool = False) -> Collected:
    """Remove folders that were never completed, changed ones, and images that have no name, unless they are held.

    The image that jails get without asking stays. SandboxError while one is being made.
    """
    if not images.is_dir():
        return Collected((), ())
    with (images / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SandboxError("an image is being made", remedy="try again when it is done") from None
        gone, held = [], []
        for folder, label in _superfluous(images):
            if _remove(folder, dry_run=dry_run):
                gone.append(label)
            else:
                held.append(label)
    return Collected(tuple(gone), tuple(held))


def _superfluous(images: Path) -> Iterator[tuple[Path, str]]:
    kept, default = set(names(images).values()), _default_key()
    for folder in sorted(images.iterdir()):
        if folder.name in (NAMES, LOCK) or not folder.is_dir() or folder.is_symlink():
            continue
        try:
            stored = Stored(*read_marker(folder), ())
            changed = _is_changed(stored)
        except (OSError, IntegrityError):
            yield folder, folder.name
            continue
        if changed or (stored.image.digest not in kept and folder.name != default):
            yield folder, stored.image.digest


def _is_changed(stored: Stored) -> bool:
    """Whether its contents are not those of its digest; read only when the stamp says that they may not be."""
    stale = stamp_of(Path(stored.image.root)) != stored.about.stamp
    return stale and digest_seen(stored) != stored.image.digest


def _default_key() -> str:
    try:
        return host_key(own_interpreter())
    except (ApplianceError, OSError):
        return ""


def _remove(folder: Path, *, dry_run: bool) -> bool:
    """Remove an image, or say whether it could be; False when it is held."""
    try:
        fd = _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    try:
        if not dry_run:
            # Under its own name it is whole or absent, whatever happens now.
            aside = folder.with_name(f".{folder.name.removesuffix(PARTIAL)}{PARTIAL}")
            folder.rename(aside)
            shutil.rmtree(aside)
    finally:
        os.close(fd)
    return True


def _complete(images: Path) -> list[Path]:
    """Folders that have the name of a complete image; what is being made or removed has another."""
    if not images.is_dir():
        return []
    there = [path for path in sorted(images.iterdir()) if path.name != NAMES and path.suffix != PARTIAL]
    return [path for path in there if path.is_dir() and not path.is_symlink()]
