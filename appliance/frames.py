"""Length-framed JSON messages between our own processes.

A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON holding one object. No pickle. A frame
over the cap, a short read or anything but an object is a `FrameError`: the peer is broken or hostile, and the
stream cannot be used again.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

MAX_FRAME_BYTES = 256 * 1024 * 1024
_HEADER = struct.Struct(">I")


class FrameError(Exception):
    """The peer broke the framing; classified by whoever owns the stream."""


def encode(message: dict[str, Any]) -> bytes:
    """Return `message` as one frame."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"a message of {len(body)} bytes is over the frame cap of {MAX_FRAME_BYTES}")
    return _HEADER.pack(len(body)) + body


def write(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one frame and flush it."""
    stream.write(encode(message))
    stream.flush()


def read(stream: BinaryIO, max_bytes: int = MAX_FRAME_BYTES) -> dict[str, Any] | None:
    """Read one frame; None at a clean end of stream."""
    header = stream.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise FrameError("the stream ended inside a frame header")
    (length,) = _HEADER.unpack(header)
    if length > max_bytes:
        raise FrameError(f"a frame of {length} bytes is over the cap of {max_bytes}")
    body = stream.read(length)
    if len(body) < length:
        raise FrameError("the stream ended inside a frame")
    return decode(body)


def decode(body: bytes) -> dict[str, Any]:
    """Parse the body of a frame."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame does not hold JSON: {error}") from None
    if not isinstance(message, dict):
        raise FrameError("a frame does not hold a JSON object")
    return message
