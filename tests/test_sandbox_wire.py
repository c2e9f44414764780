"""The jailer's messages: what is encoded comes back, and nothing else is ever taken for a message."""

from __future__ import annotations

import fcntl
import json
import os
import random
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import descriptors

from appliance.errors import NotFoundError, SandboxError, UsageError
from appliance.sandbox import parcels, turns, wire
from appliance.sandbox.artefacts import Collection, CollectLimits, Refused
from appliance.sandbox.changes import Change, Diff, Entry, freeze
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.turns import Act, Turn
from appliance.sandbox.wire import Beside, Done, Health, Op, Opened, Outcome, Pong, Refusal, Request, State

ODD = "\x07 ü\u202e" + os.fsdecode(b"\xff\xfe") + "\U0001f600"
REQUEST = Request(
    Op.run,
    ("sh", "-c", ODD),
    Policy(Limits(memory_mb=64, wall_s=2, cpu_s=0.5), env=(("NAME", ODD),)),
    index=3,
    stdin=7,
)
RESULT = JailResult(JailStatus.exit, 3, None, 0.25, 1, 4.5, b"out", b"\xff", "full", "a word")
ANSWERS: list[wire.Answer] = [
    Outcome(replace(RESULT, stdout=b"", stderr=b""), 3, 1),
    Outcome(replace(RESULT, stdout=b"", stderr=b"", exit_code=None, signal=9, peak_mib=None), 0, 0),
    Opened(),
    Pong(),
    Outcome(replace(RESULT, stdout=b"", stderr=b""), 0, 0, report=9),
    Done(),
    Health(False, "its jail is gone"),
    Beside(5, 1 << 33),
    State(pid=12, live=3, most=64, sessions=2, most_sessions=9),
    Refusal("not_found", "no image", "make one"),
    Refusal("usage", "no", "yes"),
    Refusal("busy", "all taken", "", 0.25),
]


def record(**changes: Any) -> dict[str, Any]:
    """REQUEST as its JSON object, changed."""
    found: dict[str, Any] = json.loads(wire.encode_request(REQUEST).decode("utf-8", "surrogateescape"))
    return found | changes


def packet(value: object) -> bytes:
    return json.dumps(value).encode()


def policy(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = record()["policy"]
    return found | changes


@pytest.mark.parametrize(
    "request_",
    [
        REQUEST,
        replace(REQUEST, op=Op.open),
        replace(REQUEST, op=Op.audit, image="sha256:0123"),
        Request(Op.session, policy=REQUEST.policy, index=9, image=ODD, tree=True, idle_s=2.5),
        Request(Op.status),
        Request(Op.ping),
    ],
)
def test_a_request_comes_back(request_: Request) -> None:
    assert wire.decode_request(wire.encode_request(request_)) == request_


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_comes_back(answer: wire.Answer) -> None:
    assert wire.decode_answer(wire.encode_answer(answer)) == answer


def test_a_message_is_readable_and_says_its_version() -> None:
    assert wire.encode_request(Request(Op.ping)) == b'{"v":2,"op":"ping"}'
    assert wire.encode_answer(Opened()) == b'{"v":2,"is":"opened"}'


def test_what_travels_beside_a_request_comes_back() -> None:
    files = {"a": b"", "deep/er": bytes(range(256)), os.fsdecode(b"\xff"): b"x", "line\nbreak": b"y" * 5000}
    index, parts = wire.pack(files, b"stdin")
    found = wire.unpack(index, 5, b"".join(parts))
    assert found == (files, b"stdin")
    assert list(found[0]) == list(files)
    assert wire.unpack(0, 0, b"") == ({}, b"")


def test_a_result_gets_its_streams() -> None:
    outcome = wire.decode_answer(wire.encode_answer(Outcome(RESULT, 3, 1, 2)))
    assert isinstance(outcome, Outcome)
    assert wire.with_streams(outcome, b"out\xff{}") == (RESULT, b"{}")
    with pytest.raises(SandboxError, match="lacks output"):
        wire.with_streams(outcome, b"out")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{" * 90_000,
        b"[" * 90_000,
        b"9" * 9_000,
        packet({"v": 2}),
        packet({"op": "ping"}),
        packet({"v": 1, "op": "ping"}),
        packet({"v": True, "op": "ping"}),
        packet({"v": 2.0, "op": "ping"}),
        packet({"v": 2, "op": "shutdown"}),
        packet({"v": 2, "op": ["ping"]}),
        packet({"v": 2, "op": "ping", "more": 1}),
        b'{"v":2,"op":"ping","op":"status"}',
        packet(record(op="run", more=1)),
        packet({name: value for name, value in record().items() if name != "index"}),
        packet(record(command="true")),
        packet(record(command=["true", 1])),
        packet(record(command=["true", None])),
        packet(record(command=["true", "\ud800"])),
        packet(record(index=-1)),
        packet(record(index=True)),
        packet(record(index=1.0)),
        packet(record(index=wire.INDEX_BYTES + 1)),
        packet(record(stdin="7")),
        packet(record(policy=[])),
        packet(record(policy=policy(strict=1))),
        packet(record(policy=policy(env=[["A"]]))),
        packet(record(policy=policy(env=[["A", 1]]))),
        packet(record(policy=policy(env=[["A", "b"], ["A", "c"]]))),
        packet(record(policy=policy(env=[["APPLIANCE_CHANNEL", "0,1"]]))),
        packet(record(policy=policy(limits={}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"pids": True}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"pids": 2.5}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"pids": 0}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"wall_s": float("nan")}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"wall_s": 1e308 * 10}))),
        packet(record(policy=policy(limits=policy()["limits"] | {"more": 1}))),
        packet(record(command=["x" * wire.MESSAGE_BYTES])),
    ],
    ids=lambda body: repr(body[:40]),
)
def test_anything_else_is_no_request(body: bytes) -> None:
    with pytest.raises(UsageError):
        wire.decode_request(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        packet({"v": 2, "is": "fine"}),
        packet({"v": 2, "is": "opened", "more": 1}),
        packet({"v": 1, "is": "opened"}),
        packet({"v": 2, "is": "state", "pid": 1, "live": 1}),
        packet({"v": 2, "is": "refused", "kind": "usage", "message": 1, "remedy": "", "retry_after_s": None}),
        packet(json.loads(wire.encode_answer(ANSWERS[0])) | {"status": "great"}),
        packet(json.loads(wire.encode_answer(ANSWERS[0])) | {"limits": "none"}),
        packet(json.loads(wire.encode_answer(ANSWERS[0])) | {"exit_code": "0"}),
        packet(json.loads(wire.encode_answer(ANSWERS[0])) | {"stdout": -1}),
    ],
)
def test_anything_else_is_no_answer(body: bytes) -> None:
    with pytest.raises(SandboxError, match="cannot be read"):
        wire.decode_answer(body)


def test_a_damaged_message_is_refused_or_means_something_allowed() -> None:
    """Whatever happens to a request on its way, decoding gives a request or a UsageError."""
    chance, whole = random.Random(7), wire.encode_request(REQUEST)
    refused = 0
    for _ in range(4000):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        try:
            assert isinstance(wire.decode_request(bytes(body[: chance.choice([len(body), at])])), Request)
        except UsageError:
            refused += 1
    assert refused > 3000


@pytest.mark.parametrize(
    ("index", "body"),
    [
        (2, b"{}"),
        (2, b"[]extra"),
        (13, b'[["a",5]]    1234'),
        (9, b'[["a",5]]123456'),
        (10, b'[["a",-5]]'),
        (12, b'[["a",true]]x'),
        (9, b'[["a",1]x'),
        (5, b'["a"]'),
        (19, b'[["a",1],["a",1]]  xy'),
        (900, b"[]"),
        (8, b"[[1,1]] x"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(index: int, body: bytes) -> None:
    with pytest.raises(UsageError, match="not what a request says"):
        wire.unpack(index, 0, body)


def test_what_cannot_be_sent_is_said_at_once() -> None:
    with pytest.raises(UsageError, match="pass large input as a file"):
        wire.encode_request(replace(REQUEST, command=("\x01" * 60_000,)))
    with pytest.raises(UsageError, match="no text"):
        wire.encode_request(replace(REQUEST, command=("\ud800",)))
    with pytest.raises(UsageError, match="no text"):
        wire.pack({"\ud800": b""}, b"")


def test_a_long_or_odd_explanation_still_fits() -> None:
    refusal = Refusal("sandbox", "\x01\ud800" * 50_000, "\x02" * 50_000)
    body = wire.encode_answer(refusal)
    assert len(body) <= wire.MESSAGE_BYTES
    assert isinstance(wire.decode_answer(body), Refusal)


def test_a_refusal_is_the_error_it_was() -> None:
    with pytest.raises(UsageError, match="no\n  remedy: yes"):
        Refusal("usage", "no", "yes").raised()
    with pytest.raises(NotFoundError, match="no"):
        Refusal("not_found", "no").raised()
    for kind in ("sandbox", "busy", "denied", "whatever"):
        with pytest.raises(SandboxError, match="no"):
            Refusal(kind, "no").raised()


def test_a_sealed_parcel_cannot_be_changed() -> None:
    fd = parcels.seal([b"one", b"", b"two"])
    try:
        assert parcels.unseal(fd, 6) == b"onetwo"
        assert parcels.unseal(fd, 6) == b"onetwo", "reading does not use it up"
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 3)
        with pytest.raises(ValueError, match="6 bytes where 5"):
            parcels.unseal(fd, 5)
    finally:
        os.close(fd)


def test_only_a_wholly_sealed_memory_file_is_read(tmp_path: Path) -> None:
    half = os.memfd_create("half", os.MFD_ALLOW_SEALING)
    os.write(half, b"x")
    fcntl.fcntl(half, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    (tmp_path / "file").write_bytes(b"x")
    read, write = os.pipe()
    ordinary = os.open(tmp_path / "file", os.O_RDONLY)
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for fd in (half, read, ordinary, null):
            with pytest.raises(ValueError, match="not a sealed memory file"):
                parcels.unseal(fd, 100)
    finally:
        for fd in (half, read, write, ordinary, null):
            os.close(fd)


def test_descriptors_nobody_takes_are_closed() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    null = os.open(os.devnull, os.O_RDONLY)
    with ours, theirs:
        before = descriptors()
        parcels.send(ours, b"two", [null, null])
        with parcels.received(theirs, 100) as (body, fds):
            assert (body, len(fds)) == (b"two", 2)
        parcels.send(ours, b"flood", [null] * 200)
        with pytest.raises(ValueError, match="too many descriptors"), parcels.received(theirs, 100):
            pass
        parcels.send(ours, b"too long", [null])
        with pytest.raises(ValueError, match="too long"), parcels.received(theirs, 3):
            pass
        assert descriptors() == before
    os.close(null)


# The turns of a session.


TURNS = [
    Turn(Act.do, ("sh", "-c", ODD), Limits(memory_mb=64, wall_s=2, cpu_s=0.5), 7),
    Turn(Act.artefacts, collect=CollectLimits(file_bytes=5, seconds=1)),
    *(Turn(act) for act in Act if act not in (Act.do, Act.artefacts)),
]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.act)
def test_a_turn_comes_back(turn: Turn) -> None:
    assert turns.decode(turns.encode(turn)) == turn


def test_anything_else_is_no_turn() -> None:
    for turn in TURNS:
        whole = json.loads(turns.encode(turn).decode("utf-8", "surrogateescape"))
        wrong = [whole | {"more": 1}, whole | {"v": 1}, whole | {"act": "close"}]
        wrong += [whole | {name: value} for name in whole for value in (None, True, -1, 1e300, [[]], {}, "x")]
        wrong += [{key: value for key, value in whole.items() if key != name} for name in whole]
        for record in wrong:
            with pytest.raises(UsageError):
                turns.decode(packet(record))
    with pytest.raises(UsageError, match="pass large input as a file"):
        turns.encode(Turn(Act.do, ("x" * wire.MESSAGE_BYTES,)))


def test_what_a_session_tells_comes_back() -> None:
    entries = [
        Entry("a", "folder", 0o700, opaque=True),
        Entry(f"a/{os.fsdecode(b'raw-')}\udcff", "file", 0o4711, bytes(range(256))),
        Entry("link", "link", 0o777, b"../\xff"),
        Entry("empty", "file"),
    ]
    index, contents = turns.pack_tree(entries)
    assert turns.unpack_tree(index, b"".join(contents)) == entries
    refused = (Refused(b"\xffx", "too deep"),)
    kept = freeze({entry.path: entry for entry in entries}, refused, "more")
    index, contents = turns.pack_snapshot(kept)
    assert turns.unpack_snapshot(index, b"".join(contents)) == kept
    changes = (Change("a\n\u202e", "added", "file"), Change("b", "deleted", "folder"))
    for diff in (Diff(changes), Diff(changes, refused, "many")):
        assert turns.unpack_diff(turns.pack_diff(diff)[0]) == diff
    found = Collection({b"\xff\xfe": b"body", b"b": b""}, (Refused(b"l\xff", "a link"),), "too many names")
    index, contents = turns.pack_collection(found)
    assert turns.unpack_collection(index, b"".join(contents)) == found
    with pytest.raises(UsageError, match="no text"):
        turns.pack_tree([Entry("\ud800", "file")])


@pytest.mark.parametrize(
    ("index", "contents"),
    [
        (b"", b""),
        (b"{}", b""),
        (b"[" * 90_000, b""),
        (b"[[]]", b""),
        (b'[["a","file",420,false,2]]', b"abc"),
        (b'[["a","file",420,false,-1]]', b""),
        (b'[["a","file",420,false,9]]', b"abc"),
        (b'[["a","socket",420,false,0]]', b""),
        (b'[["a","file","420",false,0]]', b""),
        (b'[["a","file",420,0,0]]', b""),
        (b'[["\\ud800","file",420,false,0]]', b""),
    ],
)
def test_what_is_no_tree_is_refused(index: bytes, contents: bytes) -> None:
    with pytest.raises(UsageError, match="not what a request says"):
        turns.unpack_tree(index, contents)
