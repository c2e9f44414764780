"""The jailer's jails by image: a direct client for each image that somebody asked for, made when first wanted.

A name means what it means at the time of the request. There are only so many images at once; beyond that the one
that was unused for longest goes, and when all are in use a request is refused as busy.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from appliance.paths import Paths
from appliance.sandbox.budget import busy
from appliance.sandbox.client import Jails
from appliance.sandbox.images import store as images

MOST_IMAGES = 8
"""Beside the host's own: each may have an nsjail, a zygote and warm jails."""


@dataclass(slots=True)
class Kept:
    """The client of one image, and how many requests use it."""

    jails: Jails
    users: int = 0


class Stock:
    """Jails of any image of the store; safe to use from many threads."""

    def __init__(self, paths: Paths, *, warm: bool = False, most: int = MOST_IMAGES) -> None:
        self._paths, self._warm, self._most = paths, warm, most
        self._lock = threading.Lock()
        self._own = Jails(paths, warm=warm)
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def prepare(self) -> None:
        """Do now what the first jail of the host's own image would wait for."""
        self._own.prepare_host()

    @contextmanager
    def jails(self, reference: str) -> Iterator[Jails]:
        """Those of an image, by name or digest, which stay for the time of the block.

        NotFoundError for an image that is not there, IntegrityError for one that is no more what it was.
        """
        if not reference:
            yield self._own
            return
        digest = images.find(self._paths.images, reference).digest
        kept, gone = self._take(digest)
        if gone is not None:
            gone.close()
        try:
            yield kept.jails
        finally:
            with self._lock:
                kept.users -= 1

    def close(self) -> None:
        """End every jail."""
        for kept in self._kept.values():
            kept.jails.close()
        self._own.close()

    def _take(self, digest: str) -> tuple[Kept, Jails | None]:
        """A client with one more user, and one that had to go for it."""
        with self._lock:
            gone = None
            if digest not in self._kept:
                if len(self._kept) >= self._most:
                    gone = self._evicted()
                self._kept[digest] = Kept(Jails(self._paths, warm=self._warm, image=digest))
            self._kept.move_to_end(digest)
            kept = self._kept[digest]
            kept.users += 1
            return kept, gone

    def _evicted(self) -> Jails:
        for digest, kept in self._kept.items():
            if not kept.users:
                del self._kept[digest]
                return kept.jails
        raise busy(f"jails of {self._most} images are in use", "number of images at once")
