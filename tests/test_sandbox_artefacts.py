"""Collecting from hostile trees: real links, fifos, devices, mounts, sparse files, odd names, and moving targets."""

# Names here are bytes, which pathlib has not.
# ruff: noqa: PTH105, PTH110, PTH118, PTH121, PTH123, PTH208, PTH211
from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jail_helpers import descriptors

from appliance.errors import SandboxError, UsageError
from appliance.sandbox.artefacts import Collection, CollectLimits, collect, shown

ROOT = Path(__file__).resolve().parents[1]
SECRET = b"the host's secret"


def still() -> float:
    return 0.0


@pytest.fixture(params=[True, False], ids=["openat2", "plain"])
def openat2(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working folder with one honest file, and a secret beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "honest").write_bytes(b"kept")
    (tmp_path / "secret").write_bytes(SECRET)
    return folder


def gather(
    tree: Path,
    limits: CollectLimits | None = None,
    clock: Callable[[], float] = still,
    *,
    openat2: bool = True,
) -> Collection:
    fd = os.open(tree, os.O_PATH | os.O_DIRECTORY)
    before = descriptors()
    try:
        return collect(fd, limits or CollectLimits(), clock, openat2=openat2)
    finally:
        assert descriptors() == before
        os.close(fd)


def reasons(found: Collection) -> dict[bytes, str]:
    return {item.name: item.reason for item in found.refused}


def test_files_come_back_exactly_and_in_the_order_of_their_names(tree: Path, openat2: bool) -> None:
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/deep").write_bytes(bytes(range(256)) * 5000)
    (tree / "a.txt").write_bytes(b"")
    (tree / "empty").mkdir()
    found = gather(tree, openat2=openat2)
    assert list(found.files) == [b"a.txt", b"a/b/deep", b"honest"]
    assert found.files[b"a/b/deep"] == bytes(range(256)) * 5000
    assert (found.refused, found.truncated) == ((), "")


def test_a_folder_too_large_to_list_is_left_out_whole(tree: Path) -> None:  # B7
    (tree / "many").mkdir()
    for number in range(50):
        (tree / f"many/{number}").touch()
    found = gather(tree, CollectLimits(entries=20))
    assert dict(found.files) == {b"honest": b"kept"}
    assert found.truncated == "more than 20 entries"
    assert gather(tree, CollectLimits(entries=52)).truncated == ""
    assert gather(tree, CollectLimits(entries=51)).truncated == "more than 51 entries"


def test_a_folder_slow_to_list_meets_the_time_cap(tree: Path) -> None:  # B7
    (tree / "slow").mkdir()
    for number in range(50):
        (tree / f"slow/{number}").touch()
    ticks = iter(range(10_000))
    found = gather(tree, CollectLimits(seconds=30), lambda: float(next(ticks)))
    assert dict(found.files) == {b"honest": b"kept"}
    assert found.truncated == "more than 30 s"


def test_hostile_names_are_exact_as_keys_and_escaped_for_people(tree: Path, openat2: bool) -> None:  # B8
    names = {
        b"new\nline": "new\\nline",
        b"bad\xff\xfe": "bad\\xff\\xfe",
        b"-rf": "-rf",
        "right\u202eleft".encode(): "right\\u202eleft",
        b"\x1b[31mred\x07": "\\x1b[31mred\\x07",
        b"back\\nslash": "back\\\\nslash",
        "\u3164blank".encode(): "\\u3164blank",
        "\U000e0041tag".encode(): "\\U000e0041tag",
        b"x" * 255: "x" * 255,
    }
    for number, name in enumerate(names):
        with open(os.path.join(os.fsencode(tree), name), "wb") as file:
            file.write(b"%d" % number)
        os.symlink(b"/", os.path.join(os.fsencode(tree), name[:200] + b"!"))
    found = gather(tree, openat2=openat2)
    assert {name: found.files[name] for name in names} == {
        name: b"%d" % number for number, name in enumerate(names)
    }
    assert {name: shown(name) for name in names} == names
    assert {item.shown for item in found.refused} >= {"new\\nline!", "\\x1b[31mred\\x07!"}
    assert len({item.shown for item in found.refused}) == len(names)
    assert all(item.shown.isprintable() for item in found.refused)


def test_links_are_named_and_not_followed(tree: Path, openat2: bool) -> None:  # B9, B15
    targets = {
        "relative": "../secret",
        "absolute": str(tree.parent / "secret"),
        "inside": "honest",
        "folder": "..",
        "self": "self",
        "zero": "/dev/zero",
        "memory": "/proc/self/mem",
        "tty": "/dev/tty",
        "descriptor": "/proc/self/fd/0",
        "nowhere": "/no/such",
    }
    for name, target in targets.items():
        (tree / name).symlink_to(target)
    found = gather(tree, openat2=openat2)
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found) == dict.fromkeys(map(os.fsencode, targets), "link")


def written(folder: Path) -> list[tuple[object, ...]]:
    """All that a write would change; a reading changes the time of the last access alone."""
    found = [(path.name, path.lstat()) for path in sorted(folder.rglob("*"))]
    return [
        (name, at.st_mode, at.st_ino, at.st_uid, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        for name, at in found
    ]


def test_nothing_is_written_where_a_supervisor_might_write(tree: Path) -> None:  # B11
    host = tree.parent / "host"
    host.mkdir()
    for name in ("stdin", "meta.json", "script.sh", "result"):
        (tree / name).symlink_to(host / name)
    (tree / "out").symlink_to(host)
    tree.chmod(0o555)
    before = written(tree.parent)
    gather(tree)
    assert written(tree.parent) == before
    assert list(host.iterdir()) == []


def test_hard_links_are_refused_on_both_names(tree: Path, openat2: bool) -> None:  # B12
    setuid = tree.parent / "setuid"
    setuid.write_bytes(SECRET)
    setuid.chmod(0o4755)
    os.link(setuid, tree / "mine")
    (tree / "one").write_bytes(b"x")
    os.link(tree / "one", tree / "two")
    found = gather(tree, openat2=openat2)
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found) == dict.fromkeys((b"mine", b"one", b"two"), "hard link")


@contextmanager
def bound_socket(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))
        yield


def test_a_fifo_or_a_socket_neither_hangs_nor_opens(tree: Path, openat2: bool) -> None:  # B13, B14
    os.mkfifo(tree / "fifo")
    with bound_socket(tree / "socket"):
        found = gather(tree, openat2=openat2)
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found) == {b"fifo": "fifo", b"socket": "socket"}


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes need root")
def test_devices_are_refused_by_type(tree: Path, openat2: bool) -> None:  # B14, B15
    nodes = {"null": (stat.S_IFCHR, 1, 3), "tty": (stat.S_IFCHR, 5, 0), "disk": (stat.S_IFBLK, 7, 0)}
    for name, (kind, major, minor) in nodes.items():
        os.mknod(tree / name, kind | 0o666, os.makedev(major, minor))
    os.mknod(tree / "whiteout", stat.S_IFCHR, os.makedev(0, 0))
    found = gather(tree, openat2=openat2)
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found) == dict.fromkeys((b"disk", b"null", b"tty", b"whiteout"), "device")


def test_large_and_sparse_files_are_refused_by_the_larger_size(tree: Path) -> None:  # B4, B5
    limits = CollectLimits(file_bytes=100_000)
    (tree / "exact").write_bytes(b"x" * 100_000)
    (tree / "large").write_bytes(b"x" * 300_000)
    for name, size in (("sparse", 1 << 40), ("hole", 50_000)):
        with (tree / name).open("wb") as file:
            file.truncate(size)
    fd = os.open(tree / "reserved", os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(fd, 0, 300_000)
    os.ftruncate(fd, 300_000)
    os.close(fd)
    found = gather(tree, limits)
    assert {name: len(body) for name, body in found.files.items()} == {
        b"exact": 100_000,
        b"hole": 50_000,
        b"honest": 4,
    }
    assert reasons(found) == {b"large": "too large", b"reserved": "too large", b"sparse": "sparse"}


def test_the_cap_on_all_bytes_ends_the_collection(tree: Path) -> None:
    for name in ("a", "b", "c"):
        (tree / name).write_bytes(b"x" * 400)
    found = gather(tree, CollectLimits(total_bytes=1000))
    assert list(found.files) == [b"a", b"b"]
    assert found.truncated == "more than 1000 bytes in all"


def test_depth_is_capped_and_what_lies_beside_is_kept(tree: Path) -> None:
    (tree / "1/2/3/4").mkdir(parents=True)
    for path in ("1/x", "1/2/x", "1/2/3/x", "1/2/3/4/x"):
        (tree / path).write_bytes(b"x")
    found = gather(tree, CollectLimits(depth=2))
    assert list(found.files) == [b"1/2/x", b"1/x", b"honest"]
    assert reasons(found) == {b"1/2/3": "too deep"}
    assert found.truncated == ""


def test_a_tree_deeper_than_any_path_is_survived(tree: Path) -> None:
    fd = os.open(tree, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d" * 200, dir_fd=fd)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    found = gather(tree, CollectLimits(depth=200))
    assert max(map(len, found.files)) == 100 * 201 + 3
    assert [item.reason for item in gather(tree).refused] == ["too deep"]


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite", "link"])
def test_a_file_that_changes_while_it_is_read_is_refused(tree: Path, change: str, openat2: bool) -> None:
    victim = tree / "victim"
    victim.write_bytes(b"x" * (3 << 20))
    readers = f"/proc/{os.getpid()}/fd"
    done = []

    def clock() -> float:
        # Called between the parts that are read: the moment at which an attacker would act.
        if not done and any(is_victim(f"{readers}/{fd}") for fd in os.listdir(readers)):
            done.append(True)
            {
                "grow": lambda: victim.open("ab").write(b"y"),
                "shrink": lambda: os.truncate(victim, 9),
                "rewrite": lambda: victim.open("r+b").write(b"z"),
                "link": lambda: os.link(victim, tree / "other"),
            }[change]()
        return 0.0

    def is_victim(link: str) -> bool:
        return os.path.exists(link) and os.path.samefile(link, victim)

    found = gather(tree, clock=clock, openat2=openat2)
    assert done
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found)[b"victim"] == "changed while read"


def test_a_name_that_is_swapped_all_the_time_never_leads_out(tree: Path, openat2: bool) -> None:
    """The race that a look before the open would lose."""
    place, secret = tree / "place", tree.parent / "secret"
    stop = threading.Event()

    def swap() -> None:
        makers = (
            lambda path: path.symlink_to(secret),
            lambda path: path.write_bytes(b"plain"),
            lambda path: os.mkfifo(path),
            lambda path: path.symlink_to(tree.parent),
        )
        while not stop.is_set():
            for number, make in enumerate(makers):
                make(tree.parent / f"next{number}")
                os.replace(tree.parent / f"next{number}", place)

    attacker = threading.Thread(target=swap)
    attacker.start()
    seen, bodies = set(), set()
    try:
        for _ in range(1000):
            fd = os.open(tree, os.O_RDONLY)
            found = collect(fd, CollectLimits(), still, openat2=openat2)
            os.close(fd)
            seen.update(reasons(found).values())
            bodies.update(found.files.values())
    finally:
        stop.set()
        attacker.join()
    assert bodies <= {b"kept", b"plain", b""}
    assert seen <= {"link", "fifo", "hard link", "changed while read"}
    assert "link" in seen


def test_a_folder_that_is_swapped_for_a_link_is_not_entered(tree: Path, openat2: bool) -> None:
    (tree / "folder").mkdir()
    (tree / "folder/file").write_bytes(b"x")
    calls = []

    def clock() -> float:
        calls.append(None)
        # After the folder was looked at, before it is opened.
        if len(calls) == 5:
            (tree / "folder").rename(tree.parent / "gone")
            (tree / "folder").symlink_to(tree.parent)
        return 0.0

    found = gather(tree, clock=clock, openat2=openat2)
    assert dict(found.files) == {b"honest": b"kept"}
    assert reasons(found) == {b"folder": "link"}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_mount_within_the_tree_is_not_entered(tree: Path, openat2: bool) -> None:
    (tree / "mount").mkdir()
    (tree / "file").write_bytes(b"")
    script = f"""
import json, os, sys
from appliance.sandbox.artefacts import CollectLimits, collect
fd = os.open({str(tree)!r}, os.O_RDONLY)
found = collect(fd, CollectLimits(), lambda: 0.0, openat2={openat2})
print(json.dumps([sorted(map(bytes.decode, found.files)), {{i.name.decode(): i.reason for i in found.refused}}]))
"""
    mounts = f"mount -t tmpfs none {tree}/mount && echo x > {tree}/mount/x && mount --bind /proc/version {tree}/file"
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$0" -c "$1"', sys.executable, script],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if "mount" in run.stderr or "unshare" in run.stderr:
        pytest.skip(f"no mounts here: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [["honest"], dict.fromkeys(("file", "mount"), "other file system")]


@pytest.mark.skipif(os.geteuid() != 0, reason="drops to another user")
def test_what_may_not_be_read_is_named(tree: Path, openat2: bool) -> None:
    (tree / "closed").write_bytes(b"x")
    (tree / "closed").chmod(0)
    (tree / "shut").mkdir(mode=0o700)
    root = os.open(tree, os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        os.setresuid(60_124, 60_124, 60_124)
        found = collect(root, CollectLimits(), still, openat2=openat2)
        os._exit(reasons(found) != dict.fromkeys((b"closed", b"shut"), "unreadable") or len(found.files) != 1)
    os.close(root)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_caps_that_cannot_hold_are_refused() -> None:
    with pytest.raises(UsageError, match="depth"):
        CollectLimits(depth=257)
    with pytest.raises(UsageError, match="file_bytes"):
        CollectLimits(file_bytes=0)


def test_a_root_that_is_no_folder_is_an_error_with_a_remedy(tree: Path) -> None:
    fd = os.open(tree / "honest", os.O_RDONLY)
    try:
        with pytest.raises(SandboxError, match="cannot collect") as caught:
            collect(fd, CollectLimits(), still)
    finally:
        os.close(fd)
    assert caught.value.remedy
