"""The read-only root that jails start from: the host's programs and libraries, and a pinned copy of our Python.

An image is a folder named by its key. It is built aside and renamed when its last file, the marker, is written, so
that a folder by that name is always complete. It holds empty mount points, a few files of /etc, and unless Python
is the system's own, a copy of the interpreter and the standard library at the path they were built for. The host's
/usr/bin, /usr/lib and the like are bound, never copied; nothing of the host's /usr/local, /etc, /home or /var is.

It refuses to guess: an interpreter that lives below a path the jail covers cannot be used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

from appliance.errors import IntegrityError, SandboxError
from appliance.sandbox.images.interpreter import Interpreter, interpreter_at, own_interpreter

__all__ = ["INIT", "MARKER", "Image", "Interpreter", "interpreter_at", "own_interpreter", "prepare"]

FORMAT = 2
MARKER, LOCK, PARTIAL = "image.json", ".lock", ".partial"
INIT = "/.jail/init.py"
UNREADABLE = 0o111
_SYSTEM_INTERPRETER = "/.jail/python3"

SHARED = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
    "/usr/include", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache",
)  # fmt: skip
"""Of the host, bound read-only where it is a file or folder, repeated where it is a link."""
MOUNT_POINTS = ("proc", "tmp", "work", "job", "dev/shm", "etc", ".jail")
FOLDERS = (*MOUNT_POINTS, "usr/local/bin", "var/tmp")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
}
_TEXTS = {
    "etc/passwd": "root:x:0:0::/work:/bin/sh\njail:x:1000:1000::/work:/bin/sh\n",
    "etc/group": "root:x:0:\njail:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost jail\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/hostname": "jail\n",
}
_LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "idle_test", "_bundled"}
)
"""Folders of the standard library that no program imports, and what was installed beside it."""


@dataclass(frozen=True, slots=True)
class Image:
    """A prepared root. All paths are strings because they are the jail's or nsjail's, not ours to open."""

    key: str
    root: str
    """The folder on the host that becomes /."""
    interpreter: str
    """Inside: runs the init; executable but not readable."""
    search_path: str
    """Inside: the command's PATH."""
    binds: tuple[tuple[str, str], ...]
    """Host source and inside target, read-only."""
    digest: str
    """`sha256:` and the SHA-256 over names, modes and contents of everything below the root."""
    loader: tuple[str, ...] = ()
    """Inside: the words before the interpreter when its libraries are not the image's."""
    detour: tuple[str, ...] = ("/usr/bin/env",)
    """Inside: the words that execute what follows, a program of the jail's own uid."""


@dataclass(frozen=True, slots=True)
class About:
    """What is known of an image besides how to use it."""

    source: str
    """What it was made from, as its maker names it; as hostile as the maker."""
    size_bytes: int
    """Of all files, hard links counted once."""
    files: int
    stamp: str
    """Changes when anything below the root is written, as long as the clock and the inodes are the host's."""
    packages: tuple[tuple[str, str], ...] = ()
    """Names and versions of what is installed for its Python, where that is known."""
    notes: tuple[str, ...] = ()
    """What was left out or doubtful; as hostile as the source."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A tree of files, read to its end."""

    digest: str
    stamp: str
    size_bytes: int
    files: int


def prepare(images: Path, interpreter: Interpreter) -> Image:
    """The image for `interpreter` below `images`, built first when it is not there."""
    key = host_key(interpreter)
    folder = images / key
    try:
        if not (folder / MARKER).is_file():
            with building(images):
                if not (folder / MARKER).is_file():
                    _build(folder, interpreter, key)
        return read_marker(folder)[0]
    except OSError as error:
        shutil.rmtree(aside_of(folder), ignore_errors=True)
        raise SandboxError(
            f"cannot prepare the jail image {folder}: {_reason(error)}",
            remedy="free space there, or remove the folder",
        ) from error


def write_marker(aside: Path, image: Image, about: About) -> None:
    """The last file of an image: with it, it is complete."""
    new = aside / f"{MARKER}.new"
    new.write_text(json.dumps({"format": FORMAT, **asdict(image), **asdict(about)}))
    new.replace(aside / MARKER)


def read_marker(folder: Path) -> tuple[Image, About]:
    """A complete image; OSError when there is none, IntegrityError when its marker cannot be understood."""
    body = (folder / MARKER).read_bytes()
    try:
        record: dict[str, Any] = {name: _tuples(value) for name, value in json.loads(body).items()}
        if record.pop("format") != FORMAT:
            raise ValueError("another format")
        names = {field.name for field in fields(Image)}
        image = Image(**{name: value for name, value in record.items() if name in names})
        about = About(**{name: value for name, value in record.items() if name not in names})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IntegrityError(
            f"the marker of the image {folder.name} cannot be read: {error}",
            remedy="appliance image gc, then make the image again",
        ) from error
    return replace(image, key=folder.name, root=str(folder / "root")), about


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@contextmanager
def building(images: Path) -> Iterator[None]:
    """One builder at a time, over all processes; gone with its holder."""
    images.mkdir(parents=True, exist_ok=True)
    with (images / LOCK).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def aside_of(folder: Path) -> Path:
    """Where an image is made before it is complete."""
    return folder.with_name(f"{folder.name}{PARTIAL}")


def _reason(error: OSError) -> str:
    """Why, in one line: a copied tree reports every file that failed, and the last is like the first."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return str(error.args[0][-1][-1])
    return str(error)


def host_key(interpreter: Interpreter) -> str:
    """Changes with anything that would make a different image, without reading the library."""
    found = interpreter.binary.stat()
    parts = [FORMAT, str(interpreter.prefix), interpreter.version, found.st_size, found.st_mtime_ns]
    parts += [
        list(interpreter.packages),
        [[str(site), site.stat().st_mtime_ns] for site in interpreter.sites],
    ]
    parts += [(interpreter.library / "os.py").stat().st_mtime_ns, _init_source().decode()]
    parts += [_shared(path) for path in SHARED]
    return f"{interpreter.library.name}-{_digest(json.dumps(parts).encode())[:16]}"


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _init_source() -> bytes:
    return Path(__file__).with_name("init.py").read_bytes()


def _shared(path: str) -> str:
    """How a shared path of the host is shown: the target of a link, `bind`, or nothing."""
    host = Path(path)
    if host.is_symlink():
        return f"link {host.readlink()}"
    return "bind" if host.exists() else ""


def _build(folder: Path, interpreter: Interpreter, key: str) -> None:
    aside = aside_of(folder)
    shutil.rmtree(aside, ignore_errors=True)
    root = aside / "root"
    lay_out(root)
    _lay_out_shared(root)
    binds = [(path, path) for path in SHARED if _shared(path) == "bind"]
    inside = _SYSTEM_INTERPRETER
    if not interpreter.is_system:
        _copy_python(root, interpreter)
        inside = f"{interpreter.prefix}/bin/.jail-python3"
    for site in interpreter.sites:
        copy_modules(site, in_root(root, interpreter.place), interpreter, root, interpreter.unwanted)
    for program in interpreter.programs:
        copy_file(program, in_root(root, f"/usr/local/bin/{program.name}"))
    copy_file(interpreter.binary, in_root(root, inside))
    open_up(root)
    # Without read permission the kernel keeps every process that runs it out of reach of the others.
    in_root(root, inside).chmod(UNREADABLE)
    search = dict.fromkeys([f"{interpreter.prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"])
    found = measure(root)
    image = Image(key, "", inside, ":".join(search), tuple(binds), found.digest)
    source = f"host {interpreter.prefix} {interpreter.version.split()[0]}"
    packages = interpreter.packages
    write_marker(aside, image, About(source, found.size_bytes, found.files, found.stamp, packages))
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def in_root(root: Path, path: str | Path) -> Path:
    """The place of the jail's `path` below `root`."""
    return root / str(path).lstrip("/")


def lay_out(root: Path, folders: Sequence[str] = FOLDERS) -> None:
    """Mount points, the init, and the fixed small files where there are none. No name may be a link already."""
    for name in folders:
        (root / name).mkdir(parents=True, exist_ok=True)
    for device in _DEVICES:
        (root / "dev" / device).touch()
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for name, text in _TEXTS.items():
        if not os.path.lexists(root / name):
            (root / name).write_text(text)
    in_root(root, INIT).write_bytes(_init_source())


def _lay_out_shared(root: Path) -> None:
    """Of the host: links as they are, and a mount point for everything else."""
    for path in SHARED:
        _lay_out_one(root, path)


def _lay_out_one(root: Path, path: str) -> None:
    place, kind = in_root(root, path), _shared(path)
    if kind.startswith("link "):
        place.symlink_to(kind.removeprefix("link "))
    elif kind and Path(path).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    elif kind:
        place.touch()


def _copy_python(root: Path, interpreter: Interpreter) -> None:
    """The interpreter, its shared library and the standard library, at the path they were built for."""
    binary = in_root(root, interpreter.prefix / "bin" / interpreter.binary.name)
    copy_file(interpreter.binary, binary)
    for name in ("python3", "python"):
        (binary.parent / name).symlink_to(binary.name)
    for library in (interpreter.prefix / "lib").glob("libpython*.so.*"):
        copy_file(library, in_root(root, library))
    copy_modules(interpreter.library, in_root(root, interpreter.library), interpreter, root, ignored)


def copy_modules(
    source: Path, target: Path, interpreter: Interpreter, root: Path, ignore: Any = None
) -> None:
    """Copy a folder of modules, and compile what is not: nothing can be, later, in a jail."""
    shutil.copytree(
        source,
        target,
        ignore=ignore,
        copy_function=copy_file,
        dirs_exist_ok=True,
        ignore_dangling_symlinks=True,
    )
    # What came compiled is kept. Modules that cannot be compiled are their authors' business.
    compiler = [str(interpreter.binary), "-I", "-m", "compileall", "-qq"]
    command = [*compiler, "-s", str(root), "-p", "/", str(target)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


def copy_file(source: Path | str, target: Path | str) -> None:
    """Contents and times: compiled modules stay valid by the time of their source."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    found = Path(source).stat()
    Path(target).chmod(0o755 if found.st_mode & 0o111 else 0o644)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def ignored(folder: str, names: list[str]) -> set[str]:
    """Left-out folders, build configuration, and modules compiled for an optimisation."""
    left_out = {name for name in names if name in _LEFT_OUT or name.startswith("config-")}
    return left_out | {name for name in names if name.endswith(".pyc") and ".opt-" in name}


def open_up(root: Path) -> None:
    """Everything readable by every uid, whatever the umask was; links are not followed."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for path in (Path(folder, name) for name in names):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) and mode & 0o777 != (wanted := 0o755 if mode & 0o111 else 0o644):
                path.chmod(wanted)


def measure(root: Path) -> Measure:
    """Digest, stamp and size of everything below `root`; OSError when it cannot be read."""
    digest, stamp, size_bytes = hashlib.sha256(), hashlib.sha256(), 0
    known: dict[tuple[int, int], str] = {}
    paths = _below(root)
    for name in paths:
        path, found = root / name, (root / name).lstat()
        inode = (found.st_dev, found.st_ino)
        if inode not in known:
            # A file with many names is read once, however many there are.
            known[inode] = _contents_digest(path, found.st_mode)
            size_bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
            if found.st_mode & 0o777 == UNREADABLE:
                # To be read it may have been made readable, which the time of its last change shows.
                found = path.lstat()
        digest.update(b"%s\0%o\0%s\n" % (os.fsencode(name), found.st_mode, known[inode].encode()))
        stamp.update(_stamp_line(name, found))
    return Measure(f"sha256:{digest.hexdigest()}", stamp.hexdigest(), size_bytes, len(paths))


def stamp_of(root: Path) -> str:
    """The stamp alone, without reading a file."""
    stamp = hashlib.sha256()
    for name in _below(root):
        stamp.update(_stamp_line(name, (root / name).lstat()))
    return stamp.hexdigest()


def _stamp_line(name: str, found: os.stat_result) -> bytes:
    # The time of the last change of any kind cannot be set by a program, unlike that of the last write.
    facts = (found.st_mode, found.st_uid, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return os.fsencode(name) + repr(facts).encode()


def _below(root: Path) -> list[str]:
    """Every path below `root`, relative and sorted; links are not followed."""
    found, waiting = [], [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(root / prefix) as entries:
            for entry in entries:
                found.append(prefix + entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{prefix}{entry.name}/")
    return sorted(found)


def _contents_digest(path: Path, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return _digest(os.fsencode(path.readlink()))
    if not stat.S_ISREG(mode):
        return _digest(b"")
    digest = hashlib.sha256()
    with _open_unreadable(path, mode) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _open_unreadable(path: Path, mode: int) -> IO[bytes]:
    """Open a file; our interpreter's, which not even its owner may read, for a moment made readable."""
    try:
        return path.open("rb")
    except PermissionError:
        if mode & 0o777 != UNREADABLE:
            raise
        path.chmod(UNREADABLE | 0o400)
        try:
            return path.open("rb")
        finally:
            path.chmod(UNREADABLE)
