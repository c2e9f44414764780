"""Where jails' cgroups are made: one leaf per jail, with the limits on its whole tree (`leaf`).

The leaf is ours, not nsjail's: nsjail runs inside it, so that peak and counters can be read before it is removed.
Version 1 has a folder per controller, version 2 one folder; both lie beside the cgroup this process is in (on
version 2 below the root when that is not delegated to us). A controller is available when a leaf can be made, not
when a uid says so. A host without one gets reduced jails, never unlimited ones called full.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox import kernfs
from appliance.sandbox.leaf import Crowded, Leaf, LeafV1, LeafV2, Usage
from appliance.sandbox.policy import Limits

__all__ = ["PREFIX", "Crowded", "Leaf", "Nursery", "Usage", "nursery"]

PREFIX = "appliance-jail"
SUPERVISOR = "appliance-supervisor"
POOL = "appliance-jails"
NEEDED_V1 = ("memory", "pids", "cpuacct", "freezer")
"""Hierarchies that every leaf of version 1 has a folder in; `cpu` and `cpuset` join them when they are asked for."""
MOVES = 100
"""How often processes are moved aside until none is left: those that fork meanwhile are new ones."""

_NAME = re.compile(rf"{PREFIX}-(\d+)-(\d+)-\d+")
_sequence = itertools.count()


@dataclass(frozen=True, slots=True)
class Nursery:
    """Where leaves are made: the parent folder in each hierarchy, on version 2 under the one empty name."""

    version: int
    parents: Mapping[str, Path]
    swap_limited: bool = True
    """False: this host swaps, and the kernel does not let a leaf keep its memory out of it; limits are reduced."""

    def leaf(self, limits: Limits) -> Leaf:
        """A new leaf with its limits set and verified; SandboxError names the one that cannot be had."""
        leaf = self._named(f"{PREFIX}-{_identity(os.getpid())}-{next(_sequence)}", self._hierarchies(limits))
        try:
            leaf.create(limits)
        except OSError as error:
            raise SandboxError(
                f"cannot make a cgroup: {error}", remedy="appliance doctor says which controllers are usable"
            ) from error
        return leaf

    def sweep(self) -> int:
        """Kill and remove the leaves of processes that are gone; return how many."""
        there = {path.name for parent in self.parents.values() for path in parent.glob(f"{PREFIX}-*")}
        orphans = {name for name in there if _is_orphan(name)}
        return sum(self._named(name, tuple(self.parents)).remove() for name in orphans)

    def _hierarchies(self, limits: Limits | None = None) -> tuple[str, ...]:
        """Those a leaf needs; SandboxError when one of them is not there."""
        if self.version != 1:
            return tuple(self.parents)
        wanted = [name for name, field in _FIELD.items() if limits and getattr(limits, field)]
        for name in wanted:
            if name not in self.parents:
                raise SandboxError(
                    f"cannot set limit {_FIELD[name]}: this host has no {name} controller",
                    remedy="leave the limit out",
                )
        return (*NEEDED_V1, *wanted)

    def _named(self, name: str, hierarchies: tuple[str, ...] = ()) -> Leaf:
        folders = {
            hierarchy: f"{self.parents[hierarchy]}/{name}" for hierarchy in hierarchies or self._hierarchies()
        }
        return LeafV1(folders) if self.version == 1 else LeafV2(folders[""])


_FIELD = {"cpu": "cpus", "cpuset": "cpuset"}
"""Controller to the limit it serves."""


def nursery(proc: Path = Path("/proc")) -> tuple[Nursery | None, str]:
    """Where this process can make leaves, or None and why not."""
    try:
        own, mounts = _memberships(proc), _mounts(proc)
        found = _nursery_v1(own, mounts) if "memory" in own else _nursery_v2(own, mounts)
        return replace(found, swap_limited=_try_out(found)), ""
    except SandboxError as error:
        why = error.message
    except KeyError as error:
        why = f"{error} is not mounted here" if error.args[0] else "none is mounted here"
    except OSError as error:
        why = str(error)
    return None, f"no cgroup with memory and pids can be made: {why}"


def _try_out(found: Nursery) -> bool:
    """Make a leaf and use everything a jail will; return whether swap is limited."""
    probe = found.leaf(Limits())
    try:
        probe.usage()
        probe.kill()
        return probe.swap_limited
    finally:
        probe.remove()


def _nursery_v1(own: Mapping[str, str], mounts: Mapping[str, tuple[Path, str]]) -> Nursery:
    parents = {name: _place(mounts[name], own[name]) for name in NEEDED_V1}
    more = {name: _place(mounts[name], own[name]) for name in _FIELD if name in mounts and name in own}
    return Nursery(1, {**parents, **more})


def _nursery_v2(own: Mapping[str, str], mounts: Mapping[str, tuple[Path, str]]) -> Nursery:
    mount, here = mounts[""][0], _place(mounts[""], own[""])
    # Only the real root may hold processes beside leaves; it alone has no events of its own.
    is_real_root = not (mount / "cgroup.events").exists()
    if os.geteuid() == 0 and is_real_root and here.name != SUPERVISOR and not _is_delegated(here):
        return Nursery(2, {"": _pool(mount)})
    ours = here.parent if here.name == SUPERVISOR else here
    _move_aside(ours)
    _enable(ours)
    return Nursery(2, {"": ours})


def _is_delegated(folder: Path) -> bool:
    """As systemd marks a cgroup whose inside is not its own."""
    names = os.listxattr(folder) if folder.exists() else []
    return any(name in names for name in ("trusted.delegate", "user.delegate"))


def _pool(mount: Path) -> Path:
    pool = mount / POOL
    _enable(mount)
    pool.mkdir(exist_ok=True)
    _enable(pool)
    return pool


def _move_aside(folder: Path) -> None:
    """A cgroup with leaves may hold no process: its own move into a leaf beside ours."""
    aside = folder / SUPERVISOR
    aside.mkdir(exist_ok=True)
    for _ in range(MOVES):
        # One that is not in our process namespace goes by 0, which would move us instead.
        movable = set(kernfs.read(f"{folder}/cgroup.procs").split()) - {"0"}
        if not movable:
            return
        for pid in movable:
            with contextlib.suppress(ProcessLookupError):
                kernfs.write(f"{aside}/cgroup.procs", pid)


def _enable(folder: Path) -> None:
    """Give leaves below `folder` their controllers: memory and pids, and cpu and cpuset where they are to be had."""
    kernfs.write(f"{folder}/cgroup.subtree_control", "+memory +pids")
    for name in _FIELD:
        with contextlib.suppress(OSError):
            kernfs.write(f"{folder}/cgroup.subtree_control", f"+{name}")


def _memberships(proc: Path) -> dict[str, str]:
    """Controller to our path in its hierarchy; the unified one goes by the empty name."""
    rows = [line.split(":", 2) for line in (proc / "self/cgroup").read_text().splitlines()]
    return {name: path for _, names, path in rows for name in names.split(",")}


def _mounts(proc: Path) -> dict[str, tuple[Path, str]]:
    """Controller to its mount point and the cgroup that is mounted there."""
    found: dict[str, tuple[Path, str]] = {}
    for line in (proc / "self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        place = (Path(head.split(" ")[4]), head.split(" ")[3])
        if kind == "cgroup2":
            found[""] = place
        elif kind == "cgroup":
            found.update(dict.fromkeys(options.split(","), place))
    return found


def _place(mount: tuple[Path, str], own: str) -> Path:
    """The folder of our cgroup, whose path may begin above what is mounted (in a container)."""
    point, top = mount
    inside = own.removeprefix(top) if top != "/" else own
    return point / inside.lstrip("/")


@functools.cache
def _identity(pid: int) -> str:
    """A process that lives: its pid and its start, which a later one with that pid does not share."""
    return f"{pid}-{birth(pid)}"


def birth(pid: int) -> int:
    """Start time in ticks since boot."""
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


def _is_orphan(name: str) -> bool:
    """Whether a leaf of ours belongs to a process that is gone; what we did not name is not ours to remove."""
    match = _NAME.fullmatch(name)
    if match is None:
        return False
    try:
        return birth(int(match[1])) != int(match[2])
    except (FileNotFoundError, ProcessLookupError):
        return True
