"""The only module that knows where files live: `APPLIANCE_HOME`, then systemd's folders, then XDG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAME = "appliance"


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one installation. Nothing is created until something is written."""

    data: Path
    """Runs, store and queue: what must survive."""
    cache: Path
    """Prepared bases, jail images: what can be made again."""

    @property
    def store(self) -> Path:
        return self.data / "store.db"

    @property
    def queue(self) -> Path:
        return self.data / "queue.db"

    @property
    def verifier_key(self) -> Path:
        return self.data / "verifier.key"

    @property
    def objects(self) -> Path:
        return self.data / "objects"

    @property
    def runs(self) -> Path:
        return self.data / "runs"

    @property
    def bases(self) -> Path:
        return self.cache / "bases"

    @property
    def images(self) -> Path:
        return self.cache / "images"


def from_environment(env: Mapping[str, str]) -> Paths:
    """Return the folders that `env` (usually `os.environ`) asks for."""
    if home := env.get("APPLIANCE_HOME"):
        root = Path(home).absolute()  # children of ours run in folders of their own
        return Paths(data=root / "data", cache=root / "cache")
    user = Path(env.get("HOME", "/"))
    data = env.get("STATE_DIRECTORY") or Path(env.get("XDG_DATA_HOME") or user / ".local/share") / NAME
    cache = env.get("CACHE_DIRECTORY") or Path(env.get("XDG_CACHE_HOME") or user / ".cache") / NAME
    return Paths(data=Path(data), cache=Path(cache))


def runtime_folder(env: Mapping[str, str], *, root: bool) -> Path:
    """Where sockets lie: gone after a restart, and nobody else's to write to."""
    if home := env.get("APPLIANCE_HOME"):
        return Path(home).absolute() / "run"
    if folder := env.get("RUNTIME_DIRECTORY"):
        return Path(folder)
    if folder := env.get("XDG_RUNTIME_DIR") or ("/run" if root else ""):
        return Path(folder, NAME)
    return Path(env.get("HOME", "/"), ".cache", NAME)


def jailer_socket(env: Mapping[str, str]) -> Path | None:
    """The socket of the jailer that is to start jails for us; None: we do it ourselves."""
    name = env.get("APPLIANCE_JAILER", "")
    return Path(name) if name else None
