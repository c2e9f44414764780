"""The tasks of a run, by their cards: each is opened when it is needed, as it was when the run began."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from appliance.nouns import Card, Task
from appliance.pool.pins import check_disk, verifiers_of
from appliance.tasks import load_task

KEPT = 2048
"""Opened tasks that are held; what was opened longest ago goes first."""


class Library(Mapping[str, Task]):
    """Tasks by key; safe to use from many threads. Opening raises what `load_task` does."""

    def __init__(self, cards: Iterable[Card] = ()) -> None:
        self.cards: Mapping[str, Card] = {card.key: card for card in cards}
        self._verifiers = verifiers_of(self.cards.values())
        self._opened: dict[str, Task] = {}
        self._lock = threading.Lock()

    def check(self, cards: Sequence[Card]) -> None:
        """IntegrityError unless the files of these, and what judges them, are what they were: before they are tried."""
        check_disk(cards, self._verifiers)

    def __getitem__(self, key: str) -> Task:
        with self._lock:
            if key not in self._opened:
                task = load_task(Path(self.cards[key].folder))
                if len(self._opened) >= KEPT:
                    del self._opened[next(iter(self._opened))]
                self._opened[key] = task
            return self._opened[key]

    def __contains__(self, key: object) -> bool:
        return key in self.cards

    def __iter__(self) -> Iterator[str]:
        return iter(self.cards)

    def __len__(self) -> int:
        return len(self.cards)
