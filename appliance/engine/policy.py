"""Which weights the engine decodes with: the base, or the base and one adapter.

The order of a swap matters: a freed adapter's address can be reused, and llama.cpp compares adapters by address.
So the new one is loaded and set before the old one is freed. The caller drops everything the KV cache holds.
"""

from __future__ import annotations

from pathlib import Path

from appliance.engine.llama import Adapter, Context, Model
from appliance.engine.records import VERSION_KEY
from appliance.errors import EngineError


class Policy:
    """The adapter in use and the version that completions are stamped with."""

    def __init__(self, model: Model, context: Context, base_version: str) -> None:
        self._model = model
        self._context = context
        self._adapter: Adapter | None = None
        self.version = base_version

    def set(self, path: Path | None, version: str) -> None:
        """Use the adapter in `path` (None: the bare base) from the next decode on."""
        new = None if path is None else self._load(path, version)
        old = self._adapter
        self._context.set_adapter(new)
        self._adapter, self.version = new, version
        if old:
            old.free()

    def _load(self, path: Path, version: str) -> Adapter:
        adapter = Adapter(self._model, path)
        found = adapter.metadata(VERSION_KEY)
        if found != version:
            adapter.free()
            raise EngineError(
                f"{path}: the file was written for policy version {found or '(none)'!r}, not {version!r}",
                remedy=f"export the adapter again with {VERSION_KEY} = {version!r}",
            )
        return adapter
