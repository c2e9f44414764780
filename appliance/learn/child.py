"""How this room starts its child processes: the same interpreter, the same code, no spinning, no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs `module`.

    -P: a folder named like a module in the caller's directory must not be imported.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return our environment for a child.

    Passive waiting: OpenMP threads that spin on cores another process computes on slow both down fifty-fold.
    """
    root = str(Path(__file__).parents[2])
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "OMP_WAIT_POLICY": "passive",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root,
    }
