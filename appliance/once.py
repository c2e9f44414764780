"""Values that are made once and shared: by key, with the least recently used ones dropped.

Two threads that want the same value wait for one making; different values are made side by side. What fails is not
remembered: the next one who asks tries again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """At most `size` values; safe to use from many threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, _Slot[T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made by `make` unless it is there. Raises what `make` raises."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._size:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.value:
                slot.value = (make(),)
            return slot.value[0]


class _Slot(Generic[T]):
    """One value, once it is there."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: tuple[T] | tuple[()] = ()
