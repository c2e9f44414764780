"""The part of `store.db` that exporters read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any


class ExportReads(ABC):
    """What `Store` can tell exporters; the connection is the store's."""

    @abstractmethod
    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]: ...

    def written(self, run_id: str) -> list[dict[str, Any]]:
        """Id, text and time (Unix seconds) of the judged attempts of a run, the oldest first."""
        where = "run_id = ? AND verdict IS NOT NULL"
        return self._rows(f"SELECT id, text, created FROM attempts WHERE {where} ORDER BY rowid", [run_id])
