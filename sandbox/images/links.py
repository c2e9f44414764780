"""Where a path of an archive leads when its links are followed within the image's own root, as `chroot` would."""

from __future__ import annotations

import os
from collections.abc import Callable

from appliance.sandbox.images.tar import damaged

MAX_LINKS, MAX_STEPS = 40, 4096
"""Links on the way to one entry, as the kernel counts them, and names that they may add up to."""
MAX_PATH_BYTES = 2048
"""Below the root, so that the whole path still fits what the kernel takes."""

Parts = tuple[str, ...]
"""A path below the root, without empty components, `.` or `..`."""


def resolved(parts: Parts, depth: int, target_of: Callable[[Parts], str | None]) -> Parts:
    """The folder that `parts` mean: every link begins at the root, none leads above it.

    `target_of` is asked about paths without a link before their last name, and gives None for what is no link. What
    is not there is as it is named. SandboxError for too many links or too deep a place.
    """
    waiting, links = list(reversed(parts)), 0
    found: list[str] = []
    while waiting:
        part = waiting.pop()
        if part == "..":
            del found[-1:]
            continue
        target = target_of((*found, part))
        if target is None:
            found.append(part)
            continue
        links += 1
        if target.startswith("/"):
            found = []
        waiting += [step for step in reversed(target.split("/")) if step not in ("", ".")]
        if links > MAX_LINKS or len(waiting) + len(found) > MAX_STEPS:
            raise damaged(f"the name {'/'.join(parts)[:80]!r} leads through too many links")
    if len(found) > depth or len(os.fsencode("/".join(found))) > MAX_PATH_BYTES:
        raise damaged(f"the name {'/'.join(parts)[:80]!r} leads too deep")
    return tuple(found)
