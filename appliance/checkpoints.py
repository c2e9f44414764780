"""Checkpoints of a run: one folder per update, complete or absent.

A checkpoint is written under a name that starts with a dot and renamed when everything in it is on disk, so
that a folder called `uNNNN` can be trusted. The task order and all seeds follow from the recipe and the step,
so `state.json` needs only those.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import IntegrityError, StoreError

KEEP = 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: `step` updates done, by this policy version."""

    folder: Path
    step: int
    policy_version: str

    @property
    def learner(self) -> Path:
        return self.folder / "learner"


def save(run_folder: Path, step: int, version: str, learner: Any) -> Path:
    """Write the checkpoint after `step` updates and drop all but the newest two. Returns its folder."""
    root = run_folder / "checkpoints"
    draft, final = root / f".u{step:04d}", root / f"u{step:04d}"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        learner.save(draft / "learner")
        _write_synced(draft / "state.json", json.dumps({"step": step, "policy_version": version}))
        shutil.rmtree(final, ignore_errors=True)
        draft.rename(final)
    except OSError as error:
        raise StoreError(f"{final}: {error.strerror}", remedy="free disk space; the run resumes") from error
    for old in _complete(root)[:-KEEP]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def newest(run_folder: Path) -> Checkpoint | None:
    """The newest complete checkpoint of a run, if it has one."""
    found = _complete(run_folder / "checkpoints")
    if not found:
        return None
    try:
        state = json.loads((found[-1] / "state.json").read_text())
        return Checkpoint(found[-1], int(state["step"]), str(state["policy_version"]))
    except (OSError, ValueError, KeyError) as error:
        raise IntegrityError(
            f"{found[-1]}/state.json is damaged: {error}",
            remedy="delete that folder to resume from the one before",
        ) from None


def _complete(root: Path) -> list[Path]:
    return sorted(root.glob("u[0-9]*")) if root.is_dir() else []


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
