"""Images that are not the host's: a folder, an archive or a fresh Debian becomes a root that jails can start from.

Such a root may have another C library, or none. The jail's init therefore comes with everything it needs: our
interpreter, its libraries, its dynamic loader and a standard library lie below /.jail, and nothing there is looked
up anywhere else. What the maker had at the places that a jail mounts over is removed, so that no link of his is
followed by the host when it mounts.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from appliance.clean import clean_line
from appliance.errors import IntegrityError, NotFoundError, SandboxError
from appliance.sandbox.image import (
    MARKER,
    MOUNT_POINTS,
    PARTIAL,
    UNREADABLE,
    About,
    Image,
    Interpreter,
    building,
    copy_file,
    copy_modules,
    ignored,
    in_root,
    lay_out,
    measure,
    open_up,
    own_interpreter,
    read_marker,
    write_marker,
)
from appliance.sandbox.images import archive
from appliance.sandbox.images.tar import Body, Kind, Member, damaged
from appliance.sandbox.images.unpack import Caps, Meter, Tree, apply

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON, LIBRARIES = "/.jail/python", "/.jail/python/lib"
LOADER, READABLE_LOADER = "/.jail/ld.so", "/.jail/ld-readable.so"
PRELOAD = ("etc", "ld.so.preload")
_UNNEEDED = frozenset(
    {"tkinter", "lib2to3", "ensurepip", "pydoc_data", "distutils", "curses", "dbm", "sqlite3"}
)
_EXECUTE = "import posix, sys; posix.execv(sys.argv[1], sys.argv[1:])"

Fill = Callable[[Tree, Meter], str]
"""Puts what an image is made of into a tree; returns its PATH, or nothing."""


def from_folder(images: Path, folder: Path, caps: Caps | None = None) -> Image:
    """A copy of `folder`. NotFoundError when there is none."""
    if not folder.is_dir():
        raise NotFoundError(f"no folder at {folder}", remedy="give the folder that is to be /")
    if images.resolve().is_relative_to(folder.resolve()):
        raise SandboxError(f"{folder} holds the images themselves", remedy="give a folder beside them")
    return _make(images, f"folder {folder}", caps, lambda tree, meter: _copy(folder, tree, meter))


def from_archive(images: Path, file: Path, caps: Caps | None = None) -> Image:
    """What is in an OCI layout, a `docker save` or a plain tar file."""

    def fill(tree: Tree, meter: Meter) -> str:
        with _naming(file), archive.opened(file, images, meter.caps) as plain:
            contents = archive.read_contents(plain, meter.caps)
            archive.unpack(plain, contents, tree, meter)
        return contents.search_path

    return _make(images, f"archive {file.name}", caps, fill)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Put the file's name before what is refused about its contents."""
    try:
        yield
    except (IntegrityError, SandboxError) as error:
        raise type(error)(f"{clean_line(str(file), 200)}: {error.message}", remedy=error.remedy) from error


def from_debian(images: Path, suite: str, mirror: str = "") -> Image:
    """A minimal Debian by debootstrap. SandboxError when it is missing, fails, or we are not root."""
    if os.geteuid() != 0:
        remedy = "run as root, or make the folder elsewhere and use: appliance image build --from FOLDER --name NAME"
        raise SandboxError("debootstrap needs root", remedy=remedy)
    program = shutil.which("debootstrap")
    if program is None:
        raise SandboxError("debootstrap is not installed", remedy="apt install debootstrap")
    if not re.fullmatch(r"[a-z][a-z0-9.-]*", suite):
        raise SandboxError(f"{suite!r} is no suite of Debian", remedy="give one such as bookworm")

    def fill(tree: Tree, meter: Meter) -> str:
        folder = images / f"debian{PARTIAL}"
        _remove(folder)
        try:
            _debootstrap([program, "--variant=minbase", suite, str(folder), *([mirror] if mirror else [])])
            return _copy(folder, tree, meter)
        finally:
            _remove(folder)

    return _make(images, f"debian {suite}", None, fill)


def _debootstrap(command: list[str]) -> None:
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if run.returncode != 0:
        said = [*run.stdout.decode(errors="replace").split("\n"), run.stderr.decode(errors="replace").strip()]
        why = " ".join(line for line in said if line.startswith(("E:", "W:")))[:500] or "it did not say why"
        raise SandboxError(f"debootstrap failed: {why}", remedy="check the suite's name and the network")


def _make(images: Path, source: str, caps: Caps | None, fill: Fill) -> Image:
    """Fill a root aside, complete it, and give it the name of its digest."""
    meter = Meter(caps or Caps())
    aside = images / f"new{PARTIAL}"
    with building(images):
        _remove(aside)
        try:
            return _make_aside(aside, source, meter, fill)
        except OSError as error:
            raise SandboxError(
                f"cannot make an image of {source}: {error}",
                remedy="free space there, or correct what it names",
            ) from error
        finally:
            _remove(aside)


def _make_aside(aside: Path, source: str, meter: Meter, fill: Fill) -> Image:
    root = aside / "root"
    root.mkdir(parents=True)
    with Tree(root) as tree:
        search_path = fill(tree, meter) or SEARCH_PATH
        _clear(tree, meter)
    lay_out(root, MOUNT_POINTS)
    image = _bring_python(root, own_interpreter(), search_path)
    open_up(root)
    for name in image.loader[:1] or (image.interpreter,):
        in_root(root, name).chmod(UNREADABLE)
    found = measure(root)
    folder = aside.with_name(found.digest.replace(":", "-"))
    image = replace(image, key=folder.name, digest=found.digest)
    notes = [*meter.notes, *([f"and {meter.more_notes} more"] if meter.more_notes else [])]
    about = About(source, found.size_bytes, found.files, found.stamp, (), tuple(notes))
    if not ((folder / MARKER).is_file() and measure(folder / "root").digest == found.digest):
        write_marker(aside, image, about)
        _remove(folder)
        aside.rename(folder)
    return read_marker(folder)[0]


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _clear(tree: Tree, meter: Meter) -> None:
    """Remove what lies where a jail mounts or where its init and our loader look. None is a link afterwards."""
    for name in sorted({point.split("/")[0] for point in MOUNT_POINTS} - {"etc"}):
        kind = tree.kind((name,))
        if kind and (not stat.S_ISDIR(kind) or tree.names((name,))):
            meter.note(f"removed what was at /{name}: a jail shows its own there")
        tree.remove((name,))
    if not stat.S_ISDIR(tree.kind(("etc",))):
        tree.remove(("etc",))
    elif tree.kind(PRELOAD):
        # The loader of the init would obey it.
        meter.note("removed /etc/ld.so.preload")
        tree.remove(PRELOAD)


def _copy(folder: Path, tree: Tree, meter: Meter) -> str:
    apply(tree, members_of(folder, meter.caps.depth), meter, whiteouts=False)
    return ""


def members_of(folder: Path, depth: int) -> Iterator[Member]:
    """A folder's contents as the members of a layer, parents first; links are not followed."""
    yield from _below(folder, "", depth, {})


def _below(folder: Path, prefix: str, depth: int, seen: dict[tuple[int, int], str]) -> Iterator[Member]:
    if depth < 0:
        raise damaged(f"the folder {prefix[:80]!r} is too deep")
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name, facts = prefix + entry.name, entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            yield Member(name, Kind.link, target=str(Path(entry.path).readlink()))
        elif entry.is_dir(follow_symlinks=False):
            yield Member(name, Kind.folder)
            yield from _below(Path(entry.path), f"{name}/", depth - 1, seen)
        elif not entry.is_file(follow_symlinks=False):
            yield Member(name, Kind.special)
        elif (first := seen.setdefault((facts.st_dev, facts.st_ino), name)) != name:
            yield Member(name, Kind.hard_link, target=first)
        else:
            yield from _file(Path(entry.path), name, facts)


def _file(path: Path, name: str, facts: os.stat_result) -> Iterator[Member]:
    with path.open("rb") as file:
        mtime = min(max(0, int(facts.st_mtime)), 2**31 - 1)
        yield Member(
            name, Kind.file, facts.st_mode, mtime, facts.st_size, body=Body(file.read, facts.st_size)
        )


def _bring_python(root: Path, interpreter: Interpreter, search_path: str) -> Image:
    """Put our interpreter and all it needs below /.jail; return the image, without its digest."""
    binary, library = f"{PYTHON}/bin/python3", interpreter.library.relative_to(interpreter.prefix)
    copy_file(interpreter.binary, in_root(root, binary))
    target = in_root(root, f"{PYTHON}/{library}")
    copy_modules(interpreter.library, target, interpreter, root, _ignored)
    loader = _loader_of(interpreter.binary)
    if not loader:
        return Image("", "", binary, search_path, (), "")
    programs = [interpreter.binary, *(interpreter.library / "lib-dynload").glob("*.so")]
    for name, path in _needs(loader, [path for path in programs if not _is_unneeded(path.name)]).items():
        copy_file(path, in_root(root, f"{LIBRARIES}/{name}"))
    for name in (LOADER, READABLE_LOADER):
        copy_file(Path(loader).resolve(), in_root(root, name))
    # What the image says of where libraries lie is not for ours.
    options = (
        ("--library-path", LIBRARIES)
        if "musl" in loader
        else ("--inhibit-cache", "--library-path", LIBRARIES)
    )
    detour = (READABLE_LOADER, *options, binary, "-I", "-S", "-c", _EXECUTE)
    return Image("", "", binary, search_path, (), "", (LOADER, *options), detour)


def _is_unneeded(name: str) -> bool:
    """Extension modules for a terminal, a screen, a data base, or Python's own tests."""
    return name.startswith(
        ("_tkinter", "_curses", "readline", "_dbm", "_gdbm", "_sqlite3", "_test", "_ctypes_test")
    )


def _ignored(folder: str, names: list[str]) -> set[str]:
    return ignored(folder, names) | {name for name in names if name in _UNNEEDED or _is_unneeded(name)}


def _loader_of(binary: Path) -> str:
    """The dynamic loader that a program names (PT_INTERP); empty for a static one."""
    with binary.open("rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02":
            raise SandboxError(f"{binary} is no 64-bit ELF program", remedy="use an ordinary CPython build")
        (table,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        for index in range(count):
            file.seek(table + index * size)
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", file.read(size))
            if kind == 3:
                file.seek(offset)
                return file.read(length).rstrip(b"\0").decode()
    return ""


def _needs(loader: str, programs: list[Path]) -> dict[str, Path]:
    """Every library that a program or module loads, by the name it is asked for, as the loader finds it here."""
    found: dict[str, Path] = {}
    for program in programs:
        run = subprocess.run([loader, "--list", str(program)], capture_output=True, check=False, text=True)
        for line in run.stdout.splitlines():
            name, arrow, rest = line.strip().partition(" => ")
            path = rest.partition(" (")[0]
            if arrow and "/" not in name and Path(path).is_file():
                found.setdefault(name, Path(path))
    return found
