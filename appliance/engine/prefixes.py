"""Prompts that are in the KV cache, and the account of its cells.

A prompt is evaluated once per weights version; every sequence that continues it shares its cells. A new prompt
also shares the longest beginning it has in common with one already there (the header common to all tasks), once
that has been evaluated. Each prompt keeps the logits after its last token, so a further sequence starts without
any decode. What nobody uses is dropped, least recently used first, when cells or sequence numbers run short;
what is in use never is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

MIN_SHARED = 16
"""A common beginning shorter than this is not worth tying two prompts together."""


class Memory(Protocol):
    """What is needed of a llama.cpp context."""

    def share(self, source: int, target: int, length: int) -> None: ...
    def drop(self, sequence: int) -> None: ...
    def clear(self) -> None: ...


@dataclass(eq=False, slots=True)
class Prefix:
    """One prompt in the cache, or on its way there."""

    ids: tuple[int, ...]
    sequence: int
    parent: Prefix | None
    shared: int
    """Tokens at the beginning that are the parent's."""
    done: int = 0
    """Positions in the cache so far."""
    users: int = 0
    """Live sequences and child prompts that hold on to it."""
    used_at: int = 0
    logits: npt.NDArray[np.float32] | None = None
    """The row after the last token; None until the prompt is complete."""

    @property
    def own_cells(self) -> int:
        return len(self.ids) - self.shared


class Prefixes:
    """The cached prompts of one context and its free cells."""

    def __init__(self, memory: Memory, cells: int, sequences: Sequence[int]) -> None:
        self._memory = memory
        self._cells = cells
        self._free_sequences = list(reversed(sequences))
        self._entries: dict[tuple[int, ...], Prefix] = {}
        self._reserved = 0
        self._ticks = 0

    @property
    def free_cells(self) -> int:
        return self._cells - self._reserved

    @property
    def pending(self) -> list[Prefix]:
        """Prompts not yet completely evaluated, in order of admission."""
        return [entry for entry in self._entries.values() if entry.done < len(entry.ids)]

    def acquire(self, ids: tuple[int, ...], new_cells: int) -> Prefix | None:
        """The prompt `ids` with room for `new_cells` more, or None if that does not fit now."""
        entry = self._entries.get(ids)
        if entry is None:
            return self._create(ids, new_cells, self._closest(ids))
        entry.users += 1
        if not self._make_room(new_cells):
            entry.users -= 1
            return None
        self._take(entry, new_cells)
        return entry

    def start(self, entry: Prefix) -> bool:
        """Take over the parent's cells before the first token of one's own; False while they are not there."""
        if entry.parent and entry.done == 0:
            if entry.parent.done < entry.shared:
                return False
            self._memory.share(entry.parent.sequence, entry.sequence, entry.shared)
            entry.done = entry.shared
        return True

    def release(self, entry: Prefix, new_cells: int) -> None:
        """Give back what `acquire` took. An unfinished prompt that nobody wants any more is dropped."""
        self._reserved -= new_cells
        entry.users -= 1
        if entry.users == 0 and entry.logits is None:
            self._evict(entry)

    def reserve(self, cells: int) -> bool:
        """Set cells aside for something that is not a prompt; False if they are not to be had now."""
        if not self._make_room(cells):
            return False
        self._reserved += cells
        return True

    def unreserve(self, cells: int) -> None:
        self._reserved -= cells

    def forget(self) -> None:
        """Drop everything: the weights changed or the memory is in doubt. Nothing may be live."""
        self._free_sequences += [entry.sequence for entry in self._entries.values()]
        self._free_sequences.sort(reverse=True)
        self._entries.clear()
        self._reserved = 0
        self._memory.clear()

    def _create(self, ids: tuple[int, ...], new_cells: int, parent: Prefix | None) -> Prefix | None:
        shared = _common(parent.ids, ids) if parent else 0
        if parent:
            parent.users += 1
        if not self._make_room(len(ids) - shared + new_cells, sequences=1):
            if parent is None:
                return None
            # The rest of the parent's own text may be what stands in the way.
            parent.users -= 1
            return self._create(ids, new_cells, None)
        entry = self._entries[ids] = Prefix(ids, self._free_sequences.pop(), parent, shared, users=1)
        self._reserved += entry.own_cells
        self._take(entry, new_cells)
        return entry

    def _take(self, entry: Prefix, new_cells: int) -> None:
        self._reserved += new_cells
        self._ticks += 1
        entry.used_at = self._ticks

    def _closest(self, ids: tuple[int, ...]) -> Prefix | None:
        """The prompt with the longest common beginning; never all of `ids`, whose last logits are needed."""
        best, length = None, MIN_SHARED - 1
        for entry in self._entries.values():
            common = _common(entry.ids, ids)
            if common > length:
                best, length = entry, common
        return best

    def _make_room(self, cells: int, *, sequences: int = 0) -> bool:
        """Drop unused prompts until the cells and sequence numbers are there; nothing if it cannot succeed."""
        pinned = self._pinned()
        loose = [entry for entry in self._entries.values() if id(entry) not in pinned]
        if self.free_cells + sum(entry.own_cells for entry in loose) < cells:
            return False
        if len(self._free_sequences) + len(loose) < sequences:
            return False
        while self.free_cells < cells or len(self._free_sequences) < sequences:
            unused = [entry for entry in loose if entry.users == 0 and entry.ids in self._entries]
            self._evict(min(unused, key=lambda entry: entry.used_at))
        return True

    def _pinned(self) -> set[int]:
        """Prompts that a live sequence needs, itself or through a prompt that shares their beginning."""
        children = Counter(id(entry.parent) for entry in self._entries.values() if entry.parent)
        pinned: set[int] = set()
        for entry in self._entries.values():
            above: Prefix | None = entry if entry.users > children[id(entry)] else None
            while above and id(above) not in pinned:
                pinned.add(id(above))
                above = above.parent
        return pinned

    def _evict(self, entry: Prefix) -> None:
        del self._entries[entry.ids]
        self._memory.drop(entry.sequence)
        self._free_sequences.append(entry.sequence)
        self._reserved -= entry.own_cells
        if entry.parent:
            entry.parent.users -= 1


def _common(held: tuple[int, ...], wanted: tuple[int, ...]) -> int:
    """Length of the common beginning, at most one less than `wanted`."""
    limit = min(len(held), len(wanted) - 1)
    if held[:limit] == wanted[:limit]:
        return limit
    return next(at for at in range(limit) if held[at] != wanted[at])
