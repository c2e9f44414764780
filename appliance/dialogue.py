"""Questions and answers with a candidate's worker: one frame out, exactly one frame back.

A frame is a 4-byte big-endian length and strict JSON. Every question carries a fresh nonce that its answer must
repeat, so that an answer written ahead of its question is worth nothing. The judge decides what an answer means;
here is only whether it is one. No wait is unbounded.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Mapping
from typing import Any

from appliance import values
from appliance.sandbox.client import Peer

_HEADER = struct.Struct(">I")
_REPLY_OVERHEAD = 4096
"""Room in a frame for what surrounds the value."""
_BACKSTOP_S = 60.0
"""Past its wall limit a jail is ended by its supervisor, slow start included; this bounds the wait if it is not."""
_FAREWELL_S = 1.0
"""How long a worker that was told to end may take."""


SILENT = "silent"
"""The outcome of a jail that neither spoke nor ended: never the candidate's doing."""


class Broken(Exception):
    """The candidate left the protocol; `outcome` is the word for the evidence."""

    def __init__(self, outcome: str, text: str = "") -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.text = text


class Dialogue:
    """Questions and answers over one conversation: one frame out, exactly one frame back."""

    def __init__(self, conversation: Peer, answer_cap: int, wall_s: float) -> None:
        self._conversation = conversation
        self._cap = answer_cap + _REPLY_OVERHEAD
        self._wait_s = wall_s + _BACKSTOP_S
        self._buffer = bytearray()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return its reply, without the nonce; Broken when there is none."""
        nonce = secrets.token_hex(8)
        body = values.dumps({**request, "case": nonce}, keep_order=True)
        try:
            self._conversation.send(_HEADER.pack(len(body)) + body)
        except BrokenPipeError:
            raise Broken("early_exit") from None
        reply = self._decode(self._frame())
        if reply.pop("case", None) != nonce:
            raise Broken("wrong_nonce")
        return reply

    def end(self) -> None:
        """Close the questions; whatever the candidate still says is a breach."""
        if self.ask({"op": "end"}) != {"end": True}:
            raise Broken("malformed")
        try:
            if self._conversation.receive(1, _FAREWELL_S):
                raise Broken("extra_frame")
        except TimeoutError:
            return

    def _frame(self) -> bytes:
        header = self._take(_HEADER.size)
        (length,) = _HEADER.unpack(header)
        if length > self._cap:
            raise Broken("oversized", f"a frame of {length} bytes, the cap is {self._cap}")
        body = self._take(length)
        if self._buffer:
            raise Broken("extra_frame")
        return body

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._buffer += self._receive()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _receive(self) -> bytes:
        try:
            part: bytes | None = self._conversation.receive(65536, self._wait_s)
        except TimeoutError:
            raise Broken(SILENT) from None
        if not part:
            raise Broken("early_exit")
        return part

    def _decode(self, body: bytes) -> dict[str, Any]:
        try:
            reply = values.loads(body)
        except values.ValueFault as error:
            raise Broken("malformed", str(error)) from None
        if type(reply) is not dict:
            raise Broken("malformed", "not an object")
        return reply
