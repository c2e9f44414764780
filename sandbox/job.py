"""A job's files: checked names, written through a descriptor into the launcher's stage, read-only for the jail.

Nothing is written here once the jail runs, and the jail cannot write here at all; a name can therefore never lead
anywhere but below the job's own folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from appliance.errors import SandboxError, UsageError

MAX_FILES = 4096
MAX_BYTES = 64 << 20
MAX_NAME = 255
MAX_PATH = 2048
"""Of a whole name, in bytes: here and in the jail it is opened by its path, of which the kernel takes 4095."""


def check_files(files: Mapping[str, bytes]) -> None:
    """Raise UsageError unless every name is a plain relative path and no file is another's folder."""
    if len(files) > MAX_FILES or sum(map(len, files.values())) > MAX_BYTES:
        raise UsageError(f"more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB for one jail")
    for name in files:
        if not all(map(is_name, name.split("/"))):
            raise UsageError(f"{name!r} is not a relative path of ordinary names")
        if len(os.fsencode(name)) > MAX_PATH:
            raise UsageError(f"a file name of more than {MAX_PATH} bytes: {name[:80]!r}", remedy="shorten it")
        for parent in PurePosixPath(name).parents:
            if str(parent) in files:
                raise UsageError(f"{str(parent)!r} is both a file and the folder of {name!r}")


def is_name(part: str) -> bool:
    """Whether it can name a file or folder: text with bytes, not too many, and nothing that leads elsewhere."""
    try:
        return part not in ("", ".", "..") and "\0" not in part and len(os.fsencode(part)) <= MAX_NAME
    except UnicodeEncodeError:
        return False


def make_job(jobs_fd: int, name: str) -> None:
    """Make the folder of a job, readable by every uid; its files may come later."""
    try:
        _make_folder(jobs_fd, name)
    except OSError as error:
        raise _unwritten(error) from error


def write_files(jobs_fd: int, name: str, files: Mapping[str, bytes]) -> None:
    """Write a job's files into its folder, readable and executable by every uid."""
    made = {""}
    try:
        for path, body in files.items():
            for parent in reversed(PurePosixPath(path).parents[:-1]):
                if str(parent) not in made:
                    made.add(str(parent))
                    _make_folder(jobs_fd, f"{name}/{parent}")
            _write_file(jobs_fd, f"{name}/{path}", body)
    except OSError as error:
        raise _unwritten(error) from error


def _unwritten(error: OSError) -> SandboxError:
    return SandboxError(f"cannot write the files of a jail: {error}", remedy="free memory or disk")


def remove_job(jobs_fd: int, name: str) -> None:
    """Remove the folder; it is nothing's any more."""
    if os.geteuid() != 0:
        _open_up(jobs_fd, name)
    shutil.rmtree(name, ignore_errors=True, dir_fd=jobs_fd)


def _open_up(jobs_fd: int, name: str) -> None:
    """What a session began with has the modes it had: folders that even their owner may not empty."""
    with suppress(FileNotFoundError):
        for _, folders, _, fd in os.fwalk(name, dir_fd=jobs_fd):
            for folder in folders:
                if stat.S_ISDIR(os.stat(folder, dir_fd=fd, follow_symlinks=False).st_mode):
                    os.chmod(folder, 0o700, dir_fd=fd)


def _make_folder(jobs_fd: int, path: str) -> None:
    os.mkdir(path, dir_fd=jobs_fd)
    os.chmod(path, 0o755, dir_fd=jobs_fd)


def _write_file(jobs_fd: int, path: str, body: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, dir_fd=jobs_fd), "wb") as file:
        os.fchmod(file.fileno(), 0o555)
        file.write(body)
