"""The read-only root that jails start from: the host's programs and libraries, and a pinned copy of our Python.

An image is a folder named by its key. It is built aside and renamed when its last file, the marker, is written, so
that a folder by that name is always complete. It holds empty mount points, a few files of /etc, and unless Python
is the system's own, a copy of the interpreter and the standard library at the path they were built for. The host's
/usr/bin, /usr/lib and the like are bound, never copied; nothing of the host's /usr/local, /etc, /home or /var is.

It refuses to guess: an interpreter that lives below a path the jail covers cannot be used.
"""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import json
import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance.errors import SandboxError

FORMAT = 1
MARKER = "image.json"
INIT = "/.jail/init.py"
_SYSTEM_INTERPRETER = "/.jail/python3"

SHARED = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache",
)  # fmt: skip
"""Of the host, bound read-only where it is a file or folder, repeated where it is a link."""
_FOLDERS = ("proc", "tmp", "work", "job", "dev/shm", "etc", "usr/local/bin", "var/tmp", ".jail")
_COVERED = ("/proc", "/tmp", "/work", "/job", "/dev", "/usr/bin", "/usr/lib", "/.jail")
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
_LEFT_OUT = frozenset({"site-packages", "test", "tests", "idlelib", "turtledemo", "idle_test", "_bundled"})
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
    """SHA-256 over names, modes and contents of what was copied or written."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that jails get: the one that runs us, without what its environment adds."""

    prefix: Path
    binary: Path
    library: Path
    """Folder of the standard library."""

    @property
    def is_system(self) -> bool:
        return self.prefix == Path("/usr")


def own_interpreter() -> Interpreter:
    """The interpreter under the virtual environment, at its real path."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    binary = prefix / "bin" / name
    library = prefix / sys.platlibdir / name
    if not (library / "os.py").is_file():
        library = Path(sysconfig.get_path("stdlib")).resolve()
    if not binary.is_file() or not library.is_relative_to(prefix):
        raise SandboxError(
            f"no usable Python below {prefix}", remedy="make the environment with an ordinary CPython build"
        )
    if any(prefix.is_relative_to(covered) for covered in _COVERED):
        raise SandboxError(f"a jail cannot show Python at {prefix}", remedy="install Python somewhere else")
    return Interpreter(prefix, binary.resolve(), library)


def prepare(images: Path, interpreter: Interpreter) -> Image:
    """The image for `interpreter` below `images`, built first when it is not there."""
    key = _key(interpreter)
    folder = images / key
    try:
        if not (folder / MARKER).is_file():
            images.mkdir(parents=True, exist_ok=True)
            with _lock(images / ".lock"):
                if not (folder / MARKER).is_file():
                    _build(folder, interpreter, key)
        record = json.loads((folder / MARKER).read_bytes())
    except OSError as error:
        shutil.rmtree(_aside(folder), ignore_errors=True)
        raise SandboxError(
            f"cannot prepare the jail image {folder}: {_reason(error)}",
            remedy="free space there, or remove the folder",
        ) from error
    binds = tuple((source, target) for source, target in record.pop("binds"))
    return Image(**{**record, "root": str(folder / "root"), "binds": binds})


def _aside(folder: Path) -> Path:
    """Where an image is made before it is complete."""
    return folder.with_name(f"{folder.name}.partial")


def _reason(error: OSError) -> str:
    """Why, in one line: a copied tree reports every file that failed, and the last is like the first."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return str(error.args[0][-1][-1])
    return str(error)


def _key(interpreter: Interpreter) -> str:
    """Changes with anything that would make a different image, without reading the library."""
    found = interpreter.binary.stat()
    parts = [FORMAT, str(interpreter.prefix), sys.version, found.st_size, found.st_mtime_ns]
    parts += [(interpreter.library / "os.py").stat().st_mtime_ns, _init_source().decode()]
    parts += [_shared(path) for path in SHARED]
    return f"python{sys.version_info[0]}.{sys.version_info[1]}-{_digest(json.dumps(parts).encode())[:16]}"


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


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One builder at a time, over all processes; gone with its holder."""
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(folder: Path, interpreter: Interpreter, key: str) -> None:
    aside = _aside(folder)
    shutil.rmtree(aside, ignore_errors=True)
    root = aside / "root"
    _lay_out(root)
    binds = [(path, path) for path in SHARED if _shared(path) == "bind"]
    inside = _SYSTEM_INTERPRETER
    if not interpreter.is_system:
        _copy_python(root, interpreter)
        inside = f"{interpreter.prefix}/bin/.jail-python3"
    _copy_file(interpreter.binary, _in(root, inside))
    (root / INIT.lstrip("/")).write_bytes(_init_source())
    _open_up(root)
    search = dict.fromkeys([f"{interpreter.prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"])
    image = Image(key, "", inside, ":".join(search), tuple(binds), _tree_digest(root))
    # Without read permission the kernel keeps every process that runs it out of reach of the others.
    _in(root, inside).chmod(0o111)
    (aside / MARKER).write_text(json.dumps(asdict(image)))
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def _in(root: Path, path: str | Path) -> Path:
    """The place of the jail's `path` below `root`."""
    return root / str(path).lstrip("/")


def _lay_out(root: Path) -> None:
    """Mount points and the fixed small files."""
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for path in SHARED:
        _lay_out_shared(root, path)
    for device in _DEVICES:
        (root / "dev" / device).touch()
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for name, text in _TEXTS.items():
        (root / name).write_text(text)


def _lay_out_shared(root: Path, path: str) -> None:
    place, kind = _in(root, path), _shared(path)
    if kind.startswith("link "):
        place.symlink_to(kind.removeprefix("link "))
    elif kind and Path(path).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    elif kind:
        place.touch()


def _copy_python(root: Path, interpreter: Interpreter) -> None:
    """The interpreter, its shared library and the standard library, at the path they were built for."""
    binary = _in(root, interpreter.prefix / "bin" / interpreter.binary.name)
    _copy_file(interpreter.binary, binary)
    for name in ("python3", "python"):
        (binary.parent / name).symlink_to(binary.name)
    for library in (interpreter.prefix / "lib").glob("libpython*.so.*"):
        _copy_file(library, _in(root, library))
    copy = _in(root, interpreter.library)
    shutil.copytree(interpreter.library, copy, ignore=_ignored, copy_function=_copy_file)
    # What came compiled is kept; nothing can be compiled later, in a jail.
    compileall.compile_dir(copy, quiet=2, stripdir=str(root), prependdir="/")


def _copy_file(source: Path | str, target: Path | str) -> None:
    """Contents and times: compiled modules stay valid by the time of their source."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    found = Path(source).stat()
    Path(target).chmod(0o755 if found.st_mode & 0o111 else 0o644)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Left-out folders, build configuration, and compiled modules of other interpreters or optimisations."""
    left_out = {name for name in names if name in _LEFT_OUT or name.startswith("config-")}
    if Path(folder).name == "__pycache__":
        suffix = f".{sys.implementation.cache_tag}.pyc"
        left_out |= {name for name in names if not name.endswith(suffix)}
    return left_out


def _open_up(root: Path) -> None:
    """Folders readable by every uid, whatever the umask was."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
    for name in (*_TEXTS, INIT.lstrip("/")):
        (root / name).chmod(0o644)


def _tree_digest(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        found = path.lstat()
        body = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        line = f"{path.relative_to(root)}\0{found.st_mode:o}\0{_digest(body)}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
