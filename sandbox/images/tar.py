"""The members of a tar stream, read strictly and in bounded memory.

Our own, because Python's reads headers of any size into memory and offers no way to bound what comes before a
member. Knows ustar, pax (path, linkpath, size, mtime; all else, extended attributes too, is dropped) and GNU long
names and large numbers. Sparse files, kinds it does not know, wrong checksums and a missing end are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from appliance.clean import clean_line
from appliance.errors import SandboxError

BLOCK = 512
CHUNK = 1 << 20
MAX_HEADER_BYTES = 1 << 20
"""Of one long name or one set of extended attributes."""
FETCH_AGAIN = "copy or export the archive again; if that does not help, make it with docker save or tar"
_LARGEST = 1 << 62
LATEST_S = (1 << 31) - 1

Read = Callable[[int], bytes]
"""As many bytes as asked for, fewer only at the end."""


class Kind(StrEnum):
    """What a member is."""

    file = "file"
    folder = "folder"
    link = "link"
    hard_link = "hard link"
    special = "device or pipe"


_KINDS = {
    **dict.fromkeys((b"0", b"\0", b"7"), Kind.file),
    **dict.fromkeys((b"3", b"4", b"6"), Kind.special),
    b"1": Kind.hard_link,
    b"2": Kind.link,
    b"5": Kind.folder,
}


class Body:
    """The bytes of a member that were not read yet."""

    def __init__(self, read: Read, size: int) -> None:
        self._read, self.left = read, size

    def read(self) -> bytes:
        """The next piece; nothing at the end."""
        piece = self._read(min(CHUNK, self.left))
        if not piece and self.left:
            raise damaged("it ends inside a file")
        self.left -= len(piece)
        return piece


def _no_body() -> Body:
    return Body(lambda size: b"", 0)


@dataclass(frozen=True, slots=True)
class Member:
    """One entry, as the archive names it: nothing here was checked for where it leads."""

    name: str
    """Bytes that are not UTF-8 are surrogates."""
    kind: Kind
    mode: int = 0o644
    mtime_s: int = 0
    size: int = 0
    target: str = ""
    """Of a link."""
    body: Body = field(default_factory=_no_body)


def damaged(why: str) -> SandboxError:
    """The refusal of an archive; `why` may hold names from it."""
    return SandboxError(f"the archive is refused: {clean_line(why, 300)}", remedy=FETCH_AGAIN)


def members(read: Read, skip: Callable[[int], None]) -> Iterator[Member]:
    """Every member in order. What its reader leaves of a body is skipped. SandboxError for what is not tar."""
    extended: dict[str, str] = {}
    while True:
        block = read(BLOCK)
        if block == bytes(BLOCK):
            return
        _check_block(block)
        size, letter = _number(block[124:136]), block[156:157]
        if letter in b"xgLK":
            extended.update(_extension(letter, _whole(read, size)))
            continue
        member = _member(block, letter, extended, read)
        extended = {}
        yield member
        skip(member.body.left + -member.size % BLOCK)


def _check_block(block: bytes) -> None:
    if len(block) < BLOCK:
        raise damaged("it ends before its end mark, or is no tar archive")
    if sum(block) - sum(block[148:156]) + 8 * 32 != _number(block[148:156]):
        raise damaged("a header does not match its checksum, or it is no tar archive")


def _member(block: bytes, letter: bytes, extended: dict[str, str], read: Read) -> Member:
    if letter not in _KINDS or any(name.startswith("GNU.sparse") for name in extended):
        raise damaged(f"it holds an entry of kind {letter!r}, or a sparse file")
    name = extended.get("path", _text(_joined(block)))
    kind = Kind.folder if _KINDS[letter] is Kind.file and name.endswith("/") else _KINDS[letter]
    size = _decimal(extended["size"]) if "size" in extended else _number(block[124:136])
    # As every other reader has it, only files have bodies.
    size = size if kind is Kind.file else 0
    mtime = _seconds(extended["mtime"]) if "mtime" in extended else min(_number(block[136:148]), LATEST_S)
    target = extended.get("linkpath", _text(block[157:257]))
    if "\0" in name or "\0" in target:
        raise damaged("a name holds a NUL character")
    return Member(name, kind, _number(block[100:108]) & 0o7777, mtime, size, target, Body(read, size))


def _joined(block: bytes) -> bytes:
    """The name with its ustar prefix; GNU has other things in that place."""
    name, prefix = block[:100], block[345:500].split(b"\0")[0]
    return prefix + b"/" + name if prefix and block[257:263] == b"ustar\0" else name


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(raw: bytes) -> int:
    """Octal digits, or with the first bit set, a big-endian number."""
    if raw[:1] >= b"\x80":
        value = int.from_bytes(bytes([raw[0] & 0x7F]) + raw[1:], "big")
    else:
        digits = raw.split(b"\0")[0].strip()
        if digits.strip(b"01234567"):
            raise damaged("a number in a header is none")
        value = int(digits or b"0", 8)
    if value > _LARGEST:
        raise damaged("a number in a header is too large")
    return value


def _decimal(text: str) -> int:
    """Whole and not negative; what Python's int() takes beyond digits is not."""
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) > _LARGEST:
        raise damaged("a number in an extended header is none, or too large")
    return int(text)


def _seconds(text: str) -> int:
    """A time before 1970 or beyond what file systems keep is as good as 0."""
    whole = text.partition(".")[0]
    return min(_decimal(whole), LATEST_S) if not whole.startswith("-") else 0


def _whole(read: Read, size: int) -> bytes:
    if size > MAX_HEADER_BYTES:
        raise damaged(f"an extended header has {size} bytes, {MAX_HEADER_BYTES} allowed")
    body = read(size + -size % BLOCK)
    if len(body) < size:
        raise damaged("it ends inside a header")
    return body[:size]


def _extension(letter: bytes, body: bytes) -> dict[str, str]:
    """What an extended header says about the next member; a global one says nothing we use."""
    if letter == b"g":
        return {}
    if letter in b"LK":
        return {"path" if letter == b"L" else "linkpath": _text(body)}
    found: dict[str, str] = {}
    while body.strip(b"\0"):
        length, space, _ = body[:20].partition(b" ")
        end = int(length) if length.isdigit() else 0
        if end > len(body):
            raise damaged("an extended header ends inside a record")
        record, body = body[len(length) + 1 : end], body[end:]
        name, equals, value = record.partition(b"=")
        if not space or not equals or not record.endswith(b"\n"):
            raise damaged("an extended header cannot be read")
        found[_text(name)] = value[:-1].decode("utf-8", "surrogateescape")
    return found
