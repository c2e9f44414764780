"""Where the daemon of this installation is, for the verbs that ask it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from appliance.errors import StoreError
from appliance.paths import Paths


def daemon_socket(paths: Paths) -> Path | None:
    """The socket of the daemon that holds the data folder; None when there is no daemon."""
    from appliance.control import default_path
    from appliance.daemon.lock import holder

    who = holder(paths)
    if who is None or who.kind != "daemon":
        return None
    return Path(who.socket) if who.socket else default_path(os.environ)


def ask_daemon(verb: str, args: Mapping[str, Any], *, otherwise: str) -> dict[str, Any]:
    """Ask the daemon of this installation. StoreError, with the remedy `otherwise`, when there is none."""
    from appliance.control import ask
    from appliance.paths import from_environment

    paths = from_environment(os.environ)
    path = daemon_socket(paths)
    if path is None:
        raise StoreError(f"no daemon runs for {paths.data}", remedy=otherwise)
    answer: dict[str, Any] = ask(path, verb, args)
    return answer
