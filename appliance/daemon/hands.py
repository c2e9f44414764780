"""Who starts the jails of this process: the jailer that the unit names, or the process itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from appliance.paths import Paths
from appliance.sandbox.client import Jails
from appliance.sandbox.remote import RemoteJails

VARIABLE = "APPLIANCE_JAILER"
"""The path of a jailer's socket."""

Hands = Jails | RemoteJails


def hands(paths: Paths, env: Mapping[str, str]) -> Hands:
    """A client of the jailer that `env` names, else warm jails of our own. A context manager."""
    socket = env.get(VARIABLE, "")
    return RemoteJails(Path(socket)) if socket else Jails(paths, warm=True)
