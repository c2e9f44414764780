"""What a system call's arguments say, read from the memory of the process that makes it. Part of the audit program.

Everything here was chosen by the process that is looked at: nothing is followed, sizes are bounded, and every text
comes out printable. It needs no ptrace of its own, only the right to read the process's memory and its /proc.
"""

# ruff: noqa: PTH115, PTH118, PTH123
from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass

MAX_TEXT = 512
PATH_BYTES = 4096
USUAL_PATH_BYTES = 256
ADDRESS_BYTES = 128
PAGE = 4096
AT_FDCWD = -100

OPENS: dict[str, tuple[int | None, int]] = {
    "open": (None, 0),
    "creat": (None, 0),
    "openat": (0, 1),
    "openat2": (0, 1),
}
EXECS: dict[str, tuple[int | None, int]] = {"execve": (None, 0), "execveat": (0, 1)}
CHANGES: dict[str, tuple[tuple[int | None, int], ...]] = {
    **dict.fromkeys(
        ("mkdir", "mknod", "unlink", "rmdir", "truncate", "chmod", "chown", "lchown"), ((None, 0),)
    ),
    **dict.fromkeys(("mkdirat", "mknodat", "unlinkat", "fchmodat", "fchmodat2", "fchownat"), ((0, 1),)),
    "rename": ((None, 0), (None, 1)),
    **dict.fromkeys(("renameat", "renameat2"), ((0, 1), (2, 3))),
    "link": ((None, 1),),
    "linkat": ((2, 3),),
    "symlink": ((None, 1),),
    "symlinkat": ((1, 2),),
}
"""Which arguments name what the call changes: the index of a folder's descriptor, if any, and that of a path."""
ADDRESSES = {"connect": (1, 2), "bind": (1, 2), "sendto": (4, 5)}
"""Which arguments are an address and its length."""


class Span(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has begun: what was read of its arguments before the kernel did."""

    name: str
    places: tuple[bytes, ...] = ()
    flags: int = 0
    address: bytes = b""


def begun(tid: int, name: str, words: Sequence[int]) -> Call:
    """Read what is worth reporting of the arguments of a call that is about to be made."""
    if name in OPENS or name in EXECS:
        place = place_of(tid, words, *(OPENS.get(name) or EXECS[name]))
        return Call(name, (place,), open_flags(tid, name, words))
    if name in CHANGES:
        return Call(name, tuple(place_of(tid, words, *indexes) for indexes in CHANGES[name]))
    if name in ADDRESSES:
        pointer, size = (words[index] for index in ADDRESSES[name])
        return Call(name, address=address_at(tid, pointer, size))
    if name == "sendmsg":
        return Call(name, address=message_address(tid, words[1]))
    if name in ("clone", "clone3"):
        return Call(name, flags=words[0] if name == "clone" else number_at(tid, words[0]))
    return Call(name)


def relatives(tid: int) -> tuple[int, int] | None:
    """The process that a thread belongs to, and that process's parent; None when it is gone."""
    try:
        with open(f"/proc/{tid}/status", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file if b":" in line)
    except OSError:
        return None
    return int(fields[b"Tgid"]), int(fields[b"PPid"])


def peek(tid: int, address: int, size: int) -> bytes:
    """Up to `size` bytes of a thread's memory; fewer where it ends."""
    size = max(0, min(size, PATH_BYTES))
    room = ctypes.create_string_buffer(size or 1)
    head = min(size, PAGE - address % PAGE)
    # No span crosses a page, so that an unmapped one costs nothing of the page before it.
    theirs = (Span * 2)(Span(address, head), Span(address + head, size - head))
    done = _libc.process_vm_readv(tid, ctypes.byref(Span(ctypes.addressof(room), size)), 1, theirs, 2, 0)
    return room.raw[: max(done, 0)]


def number_at(tid: int, address: int) -> int:
    found = peek(tid, address, 8)
    return int.from_bytes(found, sys.byteorder) if len(found) == 8 else 0


def open_flags(tid: int, name: str, words: Sequence[int]) -> int:
    if name == "creat":
        return os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    return number_at(tid, words[2]) if name == "openat2" else words[1 if name == "open" else 2]


def place_of(tid: int, words: Sequence[int], folder: int | None, path: int) -> bytes:
    """The absolute path that a call names, as its process sees it; links in it are not followed."""
    raw = peek(tid, words[path], USUAL_PATH_BYTES)
    if b"\0" not in raw:
        raw = peek(tid, words[path], PATH_BYTES)
    raw = raw.split(b"\0", 1)[0]
    if raw.startswith(b"/"):
        return b"/" + os.path.normpath(raw).lstrip(b"/")
    fd = AT_FDCWD if folder is None else ctypes.c_int(words[folder] & 0xFFFF_FFFF).value
    base = seen_as(tid, f"/proc/{tid}/cwd" if fd == AT_FDCWD else f"/proc/{tid}/fd/{fd}")
    return os.path.normpath(os.path.join(base, raw))


def seen_as(tid: int, link: str) -> bytes:
    """Where a link of /proc leads, as a path below the process's own root."""
    try:
        target, root = os.readlink(os.fsencode(link)), os.readlink(b"/proc/%d/root" % tid)
    except OSError:
        return b"?"
    inside = target == root or target.startswith(root + b"/")
    return (target[len(root) :] or b"/") if root != b"/" and inside else target


def message_address(tid: int, header: int) -> bytes:
    """The address in a struct msghdr."""
    found = peek(tid, header, 16)
    if len(found) < 16:
        return b""
    pointer, size = struct.unpack("=QI4x", found)
    return address_at(tid, pointer, size)


def address_at(tid: int, pointer: int, size: int) -> bytes:
    return peek(tid, pointer, min(size, ADDRESS_BYTES)) if pointer else b""


def address_of(raw: bytes) -> tuple[str, str]:
    """Family and address of a struct sockaddr, for people."""
    family = int.from_bytes(raw[:2], sys.byteorder)
    if family == socket.AF_INET and len(raw) >= 8:
        return "inet", f"{socket.inet_ntop(family, raw[4:8])}:{int.from_bytes(raw[2:4], 'big')}"
    if family == socket.AF_INET6 and len(raw) >= 24:
        return "inet6", f"[{socket.inet_ntop(family, raw[8:24])}]:{int.from_bytes(raw[2:4], 'big')}"
    if family == socket.AF_UNIX:
        path = raw[2:]
        return "unix", shown(b"@" + path[1:] if path[:1] == b"\0" else path.split(b"\0", 1)[0])
    return str(family), raw[2:18].hex()


def shown(raw: bytes) -> str:
    """`raw` as printable text, bounded; two different short ones never look the same."""
    text = "".join(_escaped(letter) for letter in raw.decode("utf-8", "surrogateescape")[:MAX_TEXT])
    return text if len(text) < MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _escaped(letter: str) -> str:
    if 0xDC80 <= ord(letter) <= 0xDCFF:
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter if letter.isprintable() and letter != "\\" else letter.encode("unicode_escape").decode()


_libc = ctypes.CDLL(None, use_errno=True)
