"""The report of an audit, as it is written: a line of JSON for each thing that was seen for the first time."""

from __future__ import annotations

import json
import os
from collections import Counter

MAX_RECORDS = 1000
"""Of each kind; more are counted."""


class Report:
    """Writes records as they come; never fails, because the command must not suffer from its reader."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._seen: dict[str, int] = {}
        self._kinds: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def note(self, kind: str, **fields: object) -> None:
        line = json.dumps({"kind": kind, **fields})
        if line in self._seen:
            self._seen[line] += 1
        elif self._kinds[kind] >= MAX_RECORDS:
            self._dropped[kind] += 1
        else:
            self._kinds[kind] += 1
            self._seen[line] = 1
            self._write(line)

    def end(self) -> None:
        for number, count in enumerate(self._seen.values()):
            if count > 1:
                self._write(json.dumps({"kind": "count", "line": number, "count": count}))
        self._write(json.dumps({"kind": "end", "dropped": self._dropped}))

    def _write(self, line: str) -> None:
        left = f"{line}\n".encode()
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            # What is missing shows: the report has no end.
            self._fd = -1
