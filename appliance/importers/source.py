"""The rows of a file: JSON lines, gzipped or not, or one JSON list or object of rows. Bounded, and nothing else."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.importers.adapt import Unfit
from appliance.importers.row import Imported, Options, Row
from appliance.pool.folder import Folder

MAX_BYTES = 1 << 30
"""Of a source, unpacked."""
MAX_ROW = 64 << 20
"""Bytes of one row."""


def read(source: Path) -> Iterator[Row]:
    """Every row of a source, from 1. TaskError names the file and the row; UsageError for another kind of file."""
    if source.suffix == ".parquet" or not source.name.endswith((".jsonl", ".jsonl.gz", ".json", ".json.gz")):
        raise UsageError(f"{source} is neither JSON nor JSON lines", remedy="convert to JSONL")
    body = _body(source)
    sha256 = hashlib.sha256(body).hexdigest()
    text = _unpacked(source, body) if source.name.endswith(".gz") else body
    lines = ".jsonl" in source.suffixes[-2:]
    found = _lines(source, text) if lines else _whole(source, text)
    for number, data in found:
        if type(data) is not dict:
            raise TaskError(f"{source.name}: row {number} is not an object", remedy="write one object a row")
        yield Row(source.name, number, sha256, data)


def tasks(
    source: Path, options: Options, id_field: str, make: Callable[[Row, Options], Folder]
) -> Iterator[Imported]:
    """What `make` makes of each row, known by its field `id_field`; what it finds unfit is blocked."""
    for row in read(source):
        id = str(row.data[id_field]) if type(row.data.get(id_field)) is int else row.text(id_field)
        try:
            yield Imported(row.number, id, make(row, options))
        except Unfit as reason:
            yield Imported(row.number, id, blocked=str(reason))


def _body(source: Path) -> bytes:
    try:
        found = source.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{source} is not a regular file", remedy="give the file itself, and no link")
        if found.st_size > MAX_BYTES:
            raise UsageError(f"{source} has more than {MAX_BYTES >> 20} MiB", remedy="split it")
        return source.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"{source} does not exist", remedy="give a file of the format") from None


def _unpacked(source: Path, body: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(body)) as file:
            text = file.read(MAX_BYTES + 1)
    except (zlib.error, OSError, EOFError) as error:
        raise TaskError(f"{source.name}: {error}", remedy="pack it with gzip, or not at all") from None
    if len(text) > MAX_BYTES:
        raise UsageError(f"{source} unpacks to more than {MAX_BYTES >> 20} MiB", remedy="split it")
    return text


def _lines(source: Path, body: bytes) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(body.split(b"\n"), 1):
        if len(line) > MAX_ROW:
            raise TaskError(
                f"{source.name}: row {number} has more than {MAX_ROW >> 20} MiB", remedy="drop the row"
            )
        if line.strip():
            yield number, parse(f"{source.name}: row {number}", line)


def _whole(source: Path, body: bytes) -> Iterator[tuple[int, Any]]:
    found = parse(source.name, body)
    yield from enumerate(found if type(found) is list else [found], 1)


def parse(where: str, body: bytes) -> Any:
    """Strict JSON; TaskError says where it breaks."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise TaskError(
            f"{where} is no JSON: {error}", remedy="write JSON in UTF-8, one object a row"
        ) from None
