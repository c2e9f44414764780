"""A folder that is written beside its place and put there as one, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import UsageError


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """A folder to fill, which is `place` when the block ends well. UsageError when something is there already."""
    if os.path.lexists(place):
        raise UsageError(f"{place} is there already", remedy="name a new folder, or remove that one")
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        yield draft
        draft.chmod(0o755)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
