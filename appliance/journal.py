"""What a run says of itself: the event chain, the run folder's JSONL files, the live row, and listeners."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance.errors import StoreError
from appliance.store import Store

Listener = Callable[[str, Mapping[str, Any]], None]
"""Called with the kind and the data of each event, in the thread that caused it."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Where one run writes. `clock` returns Unix seconds."""

    store: Store
    run_id: str
    folder: Path
    clock: Callable[[], float]
    listeners: tuple[Listener, ...] = ()

    def event(self, kind: str, **data: Any) -> None:
        """Append to the chain, to `events.jsonl`, and tell the listeners."""
        event = self.store.append_event(self.clock(), self.run_id, kind, os.getuid(), data)
        self._append("events.jsonl", asdict(event))
        self._tell(kind, data)

    def live(self, **data: Any) -> None:
        """Say what is going on now; not kept."""
        self.store.set_live(self.run_id, self.clock(), data)
        self._tell("live", data)

    def _tell(self, kind: str, data: Mapping[str, Any]) -> None:
        """A listener whose terminal or pipe is gone must not end the run."""
        for listen in self.listeners:
            with suppress(OSError):
                listen(kind, data)

    def update(self, step: int, started: float, metrics: Mapping[str, Any]) -> None:
        seconds = self.clock() - started
        self.store.add_update(self.run_id, step, started, seconds, metrics)
        self._append(
            "metrics.jsonl", {"kind": "update", "step": step, "seconds": round(seconds, 3), **metrics}
        )
        self.event("update.done", step=step, seconds=round(seconds, 3), **metrics)

    def evaluation(self, step: int, evaluation: Mapping[str, Any]) -> None:
        self.store.add_evaluation(self.run_id, step, evaluation)
        self._append("metrics.jsonl", {"kind": "evaluation", "step": step, **evaluation})
        brief = {key: evaluation[key] for key in ("pass_rate", "policy_version", "seconds")}
        self.event("evaluation.done", step=step, **brief)

    def _append(self, name: str, record: Mapping[str, Any]) -> None:
        path = self.folder / name
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        except OSError as error:
            raise StoreError(
                f"{path}: {error.strerror}", remedy="free disk space or check permissions"
            ) from error
