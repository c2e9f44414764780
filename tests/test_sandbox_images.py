"""Images from outside: what is read, what is refused, the store of them, and jails that start from one."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import descriptors, programs, tar

from appliance.errors import ApplianceError, IntegrityError, NotFoundError, SandboxError, UsageError
from appliance.paths import Paths
from appliance.sandbox import nsjail
from appliance.sandbox.client import Jails
from appliance.sandbox.host import fatal_problem
from appliance.sandbox.image import MARKER, Image, host_key, interpreter_at, measure, own_interpreter, prepare
from appliance.sandbox.images import archive, foreign
from appliance.sandbox.images import store as images
from appliance.sandbox.images.unpack import Caps, Meter, Tree
from appliance.sandbox.launcher import Launcher
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.uids import Identities

needs_jails = pytest.mark.skipif(fatal_problem() is not None, reason=f"no jails here: {fatal_problem()}")
MACHINE = archive._architecture()
PATH = "/bin:/opt/bin"

Edit = Callable[[dict[str, bytes]], None]


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def configuration(layers: list[bytes], **more: Any) -> dict[str, Any]:
    diff_ids = [f"sha256:{sha(body)}" for body in layers]
    rootfs = {"type": "layers", "diff_ids": diff_ids}
    return {
        "architecture": MACHINE,
        "os": "linux",
        "config": {"Env": [f"PATH={PATH}"]},
        "rootfs": rootfs,
        **more,
    }


def oci(layers: list[bytes], *, nested: bool = False, **more: Any) -> dict[str, bytes]:
    """The files of an OCI layout with gzipped layers; `nested` as image builders write it, with a statement."""
    files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}

    def add(body: bytes) -> dict[str, Any]:
        files[f"blobs/sha256/{sha(body)}"] = body
        return {"digest": f"sha256:{sha(body)}", "size": len(body)}

    config = add(json.dumps(configuration(layers, **more)).encode())
    manifest = add(
        json.dumps({"config": config, "layers": [add(gzip.compress(body)) for body in layers]}).encode()
    )
    listed = [{**manifest, "platform": {"os": "linux", "architecture": MACHINE}}]
    if nested:
        statement = {**add(b"{}"), "platform": {"os": "unknown", "architecture": "unknown"}}
        listed = [add(json.dumps({"manifests": [*listed, statement]}).encode())]
    files["index.json"] = json.dumps({"manifests": listed}).encode()
    return files


def docker(layers: list[bytes]) -> dict[str, bytes | str]:
    """The files of an older docker save, the second layer named by a link."""
    config = json.dumps(configuration(layers)).encode()
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": f"{sha(config)}.json", "RepoTags": ["x:1"], "Layers": names}]
    files: dict[str, bytes | str] = {
        f"{sha(config)}.json": config,
        "manifest.json": json.dumps(manifest).encode(),
    }
    for number, body in enumerate(layers):
        files[f"real/{number}.tar"] = body
        files[f"{number}/layer.tar"] = f"../real/{number}.tar"
    return files


LOWER = tar(
    {
        "etc/motd": b"lower",
        "etc/gone": b"x",
        "tmp": "/etc",
        ".jail/init.py": b"raise SystemExit(0)",
        "proc/x": b"x",
    }
)
UPPER = tar(
    {
        "etc/motd": b"upper",
        "etc/.wh.gone": b"",
        "etc/ld.so.preload": b"/evil.so",
        "dev": "/",
        "work/here": b"x",
    }
)


@pytest.fixture(scope="module")
def layers() -> list[bytes]:
    return [tar(programs("sh", "cat", "ls")), LOWER, UPPER]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, layers: list[bytes]) -> Path:
    """One image, imported three ways."""
    folder = tmp_path_factory.mktemp("store")
    store = folder / "images"
    for name, body in (
        ("oci", tar(oci(layers))),
        ("docker", tar(docker(layers))),
        ("zip", gzip.compress(tar(oci(layers)))),
    ):
        (folder / f"{name}.tar").write_bytes(body)
        images.assign(store, name, foreign.from_archive(store, folder / f"{name}.tar").digest)
    return store


def read(tmp_path: Path, body: bytes, caps: Caps | None = None) -> dict[str, str]:
    """What an archive unpacks to."""
    caps = caps or Caps()
    (tmp_path / "a.tar").write_bytes(body)
    (tmp_path / "root").mkdir(exist_ok=True)
    with archive.opened(tmp_path / "a.tar", tmp_path, caps) as file, Tree(tmp_path / "root") as tree:
        archive.unpack(file, archive.read_contents(file, caps), tree, Meter(caps))
    paths = sorted((tmp_path / "root").rglob("*"))
    return {
        path.relative_to(tmp_path / "root").as_posix(): path.read_text() for path in paths if path.is_file()
    }


def test_one_image_by_three_ways_is_one_digest(store: Path) -> None:
    assert list(images.names(store)) == ["docker", "oci", "zip"]
    assert len(set(images.names(store).values())) == 1
    (stored,) = images.listing(store)
    assert stored.image.search_path == PATH
    assert stored.image.binds == ()
    assert stored.image.key == stored.image.digest.replace(":", "-")
    assert sorted(path.name for path in store.iterdir()) == [".lock", ".names", stored.image.key]


def test_an_imported_root_has_real_folders_where_jails_mount(store: Path) -> None:
    (stored,) = images.listing(store)
    root = Path(stored.image.root)
    for name in ("proc", "tmp", "work", "job", "dev", "dev/shm", "etc", ".jail"):
        assert stat.S_ISDIR((root / name).lstat().st_mode), name
    for name in ("proc", "tmp", "work", "job", "dev/shm"):
        assert list((root / name).iterdir()) == []
    assert stat.S_ISREG((root / "dev/null").lstat().st_mode)
    assert (root / "etc/motd").read_text() == "upper"
    assert "jail" in (root / "etc/passwd").read_text()
    assert not (root / "etc/gone").exists()
    assert not (root / "etc/ld.so.preload").exists()
    assert "SystemExit(0)" not in (root / ".jail/init.py").read_text()
    assert [note for note in stored.about.notes if "/work" in note]


def inside(
    image: Image, *command: str, program: str = "posix.execve(sys.argv[1], sys.argv[1:], {})"
) -> tuple[int, str]:
    """Exit code and output of a command that the image's own Python, as process 1 of a jail, turns into."""
    launcher, identities = Launcher(image.root), Identities()
    read_end, write_end = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        stage, identity = launcher.stage(), identities.lease()
        os.mkdir("empty", dir_fd=stage.jobs_fd)
        staged = replace(image, root=stage.root)
        options = {"enforced": False, "channel": False}
        argv = nsjail.arguments(
            nsjail.nsjail_binary().path, staged, f"{stage.jobs}/empty", Limits(), identity, **options
        )
        python = [*image.loader, image.interpreter, "-I", "-S", "-c", f"import posix, sys; {program}"]
        fds = [nothing, write_end, write_end, write_end, nothing]
        line = launcher.launch([*argv, *python, *command], [], fds)
        os.close(write_end)
        with line, os.fdopen(read_end, "rb") as said:
            text = said.read().decode()
            status = line.recv(64)
        return os.waitstatus_to_exitcode(int(status)), text
    finally:
        os.close(nothing)
        launcher.close()
        identities.close()


@pytest.mark.jail
@needs_jails
@pytest.mark.parametrize("name", ["oci", "docker"])
def test_a_jail_runs_a_command_of_the_image_and_sees_nothing_else(store: Path, name: str) -> None:
    script = "cat /etc/motd; echo; ls /; echo x > /work/x && cat /work/x; echo y > /etc/y; exit 3"
    with images.use(store, name) as image:
        code, said = inside(image, "/bin/sh", "-c", script)
    assert code == 3, said
    assert said.startswith("upper")
    assert "Read-only file system" in said
    words = said.split()
    assert {"bin", "etc", "work"} < set(words)
    assert "usr" not in words


@pytest.mark.jail
@needs_jails
def test_our_python_uses_nothing_of_the_image(tmp_path: Path) -> None:
    """Neither its C library nor its loader, nor what it says of where libraries lie."""
    bad = {name: b"no library" for name in programs("sh") if ".so" in name}
    bad |= {"etc/ld.so.cache": b"no cache", "usr/lib/python3.11/os.py": b"raise SystemExit('theirs')"}
    (tmp_path / "bad.tar").write_bytes(tar(bad))
    image = foreign.from_archive(tmp_path / "images", tmp_path / "bad.tar")
    program = (
        "import ctypes, hashlib, json, socket; "
        "sys.stdout.write(' '.join(sorted({line.split()[-1] for line in open('/proc/self/maps') if '.so' in line})))"
    )
    code, said = inside(image, program=program)
    assert code == 0, said
    assert said
    assert all(path.startswith("/.jail/") for path in said.split()), said


@pytest.mark.parametrize("nested", [False, True])
def test_b22_an_honest_layout_is_read(tmp_path: Path, nested: bool) -> None:
    assert read(tmp_path, tar(oci([LOWER, UPPER], nested=nested)))["etc/motd"] == "upper"


def blobs(files: dict[str, bytes]) -> list[str]:
    return sorted((name for name in files if "blobs" in name), key=lambda name: len(files[name]))


def flip(which: int) -> Edit:
    """Change one byte of the blob that is `which` by size: configuration, manifest or layers."""

    def edit(files: dict[str, bytes]) -> None:
        name = blobs(files)[which]
        files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])

    return edit


def shorten(files: dict[str, bytes]) -> None:
    name = blobs(files)[-1]
    files[name] = files[name][:-1]


@pytest.mark.parametrize("edit", [flip(0), flip(1), flip(2), flip(-1), shorten])
def test_b22_a_blob_that_is_not_its_digest_is_refused(tmp_path: Path, edit: Edit) -> None:
    files = oci([LOWER, UPPER])
    edit(files)
    with pytest.raises(IntegrityError, match="refused") as caught:
        read(tmp_path, tar(files))
    assert caught.value.exit_code == 7
    assert list((tmp_path / "root").iterdir()) == []


def test_b22_a_layer_that_unpacks_to_something_else_is_refused(tmp_path: Path) -> None:
    wrong = {"type": "layers", "diff_ids": [f"sha256:{sha(UPPER)}"]}
    with pytest.raises(IntegrityError, match="decompressed"):
        read(tmp_path, tar(oci([LOWER], rootfs=wrong)))
    files = docker([LOWER, UPPER])
    files["real/1.tar"] = tar({"etc/motd": b"other"})
    with pytest.raises(IntegrityError, match="decompressed"):
        read(tmp_path, tar(files))


def set_index(document: Any) -> Edit:
    return lambda files: files.update(
        {"index.json": document if isinstance(document, bytes) else json.dumps(document).encode()}
    )


def descriptor(**fields: Any) -> dict[str, Any]:
    return {"manifests": [{"digest": f"sha256:{'0' * 64}", "size": 2, **fields}]}


@pytest.mark.parametrize(
    "edit",
    [
        set_index(b"{"),
        set_index(b"[" * 100_000),
        set_index([]),
        set_index({}),
        set_index({"manifests": []}),
        set_index({"manifests": ["x"]}),
        set_index(descriptor()),
        set_index(descriptor(digest="sha256:../../../../etc/passwd")),
        set_index(descriptor(digest="md5:0")),
        set_index(descriptor(digest=7)),
        set_index(descriptor(platform={"os": "linux", "architecture": "s390x"})),
        set_index(b" " * (5 << 20)),
        lambda files: files.update(
            {"index.json": files["index.json"].replace(b"]", b"," + files["index.json"][15:])}
        ),
    ],
)
def test_a_layout_that_makes_no_sense_is_one_clear_error(tmp_path: Path, edit: Edit) -> None:
    files = oci([LOWER])
    edit(files)
    with pytest.raises((SandboxError, IntegrityError)) as caught:
        read(tmp_path, tar(files))
    assert caught.value.remedy


def test_an_index_that_leads_in_circles_ends(tmp_path: Path) -> None:
    """A digest cannot name itself, but a long chain can be made."""
    files = oci([LOWER])
    for _ in range(9):
        body = files["index.json"]
        files[f"blobs/sha256/{sha(body)}"] = body
        files["index.json"] = json.dumps(
            {"manifests": [{"digest": f"sha256:{sha(body)}", "size": len(body)}]}
        ).encode()
    with pytest.raises(SandboxError, match="refused"):
        read(tmp_path, tar(files))


def test_an_image_for_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="is for s390x"):
        read(tmp_path, tar(oci([LOWER], architecture="s390x")))


def test_members_of_the_archive_never_become_files(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {**oci([LOWER]), "../../escape": b"x", "/absolute": b"x", "up": "../.."}
    assert read(tmp_path, tar(files))["etc/motd"] == "lower"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "root"]


def test_b18_a_compressed_archive_meets_the_caps_as_well(tmp_path: Path) -> None:
    body = gzip.compress(tar({"zeros": bytes(4 << 20)}))
    with pytest.raises(SandboxError, match="for each compressed"):
        read(tmp_path, body, Caps(ratio_from=1 << 20))


def test_a_refused_archive_leaves_nothing(tmp_path: Path) -> None:
    store = tmp_path / "images"
    (tmp_path / "bad.tar").write_bytes(tar({"a": b"x", "../b": b"x"}))
    with pytest.raises(SandboxError):
        foreign.from_archive(store, tmp_path / "bad.tar")
    with pytest.raises(NotFoundError):
        foreign.from_archive(store, tmp_path)
    assert [path.name for path in store.iterdir()] == [".lock"]


def test_a_folder_is_copied_without_following_or_keeping_what_is_dangerous(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin/tool").write_text("#!")
    (source / "bin/tool").chmod(0o6711)
    os.link(source / "bin/tool", source / "bin/also")
    (source / "out").symlink_to(tmp_path)
    (source / ".wh.bin").touch()
    os.mkfifo(source / "pipe")
    members = list(foreign.members_of(source, 10))
    assert [(member.name, str(member.kind)) for member in members] == [
        (".wh.bin", "file"), ("bin", "folder"), ("bin/also", "file"), ("bin/tool", "hard link"),
        ("out", "link"), ("pipe", "device or pipe"),
    ]  # fmt: skip
    store = tmp_path / "images"
    image = foreign.from_folder(store, source)
    root = Path(image.root)
    assert (root / "bin/tool").stat().st_mode == stat.S_IFREG | 0o755
    assert (root / "bin/also").samefile(root / "bin/tool")
    assert (root / "out").readlink() == tmp_path
    assert not (root / "pipe").exists()
    with pytest.raises(SandboxError, match="holds the images"):
        foreign.from_folder(store, tmp_path)


def test_debian_needs_debootstrap_and_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as caught:
        foreign.from_debian(tmp_path / "images", "bookworm")
    assert caught.value.remedy
    if os.geteuid() != 0:
        pytest.skip("the rest needs root")
    assert "debootstrap" in caught.value.message
    program = tmp_path / "debootstrap"
    program.write_text("#!/bin/sh\necho 'E: no such suite' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(SandboxError, match="no such suite"):
        foreign.from_debian(tmp_path / "images", "bookworm")
    program.write_text('#!/bin/sh\n/bin/mkdir -p "$3/etc" && echo "$2" > "$3/etc/debian_version"\n')
    image = foreign.from_debian(tmp_path / "images", "bookworm")
    assert (Path(image.root) / "etc/debian_version").read_text() == "bookworm\n"
    with pytest.raises(SandboxError, match="no suite"):
        foreign.from_debian(tmp_path / "images", "--help")


@pytest.fixture
def own_store(store: Path, tmp_path: Path) -> Path:
    """A copy of the store, to be harmed."""
    shutil.copytree(store, tmp_path / "images", symlinks=True)
    return tmp_path / "images"


def test_an_image_is_found_by_name_digest_and_prefix(store: Path) -> None:
    digest = images.names(store)["oci"]
    for reference in ("oci", digest, digest[:15], digest.removeprefix("sha256:")[:6]):
        assert images.find(store, reference).digest == digest
    for reference in ("oic", "sha256:", "", "abc", "sha256:" + "0" * 64, "../images", ".names"):
        with pytest.raises(NotFoundError) as caught:
            images.find(store, reference)
        assert caught.value.remedy
    with pytest.raises(NotFoundError) as caught:
        images.find(store, "dockr")
    assert "docker" in caught.value.remedy


@pytest.mark.parametrize("name", ["", ".x", "a/b", "../x", "sha256:abcd", "A", "-x", "a" * 65, "a\n", "a b"])
def test_a_name_that_could_mislead_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        images.assign(tmp_path, name, "sha256:0")
    assert list(tmp_path.iterdir()) == []


def append(root: Path) -> None:
    with (root / "etc/motd").open("a") as file:
        file.write("!")


def same_size(root: Path) -> None:
    (root / "etc/motd").write_text("UPPER")
    os.utime(root / "etc/motd", (0, 0))


@pytest.mark.parametrize(
    "harm",
    [
        append,
        same_size,
        lambda root: (root / "etc/new").touch(),
        lambda root: (root / "etc/motd").unlink(),
        lambda root: (root / "etc/motd").chmod(0o4755),
        lambda root: (root / "etc/new").symlink_to("/etc/shadow"),
    ],
)
def test_b22_a_changed_image_is_refused_at_use_and_collected(
    own_store: Path, harm: Callable[[Path], None]
) -> None:
    with images.use(own_store, "oci") as image:
        assert measure(Path(image.root)).digest == image.digest
    harm(Path(image.root))
    with pytest.raises(IntegrityError, match="is not what"), images.use(own_store, "oci"):
        pass
    assert images.collect(own_store).images == (image.digest,)
    with pytest.raises(NotFoundError):
        images.find(own_store, "oci")


@pytest.mark.parametrize("warm", [False, True])
def test_a_changed_default_image_is_refused_before_a_jail_starts(tmp_path: Path, warm: bool) -> None:
    paths = Paths(tmp_path / "data", tmp_path / "cache")
    with Jails(paths, warm=warm) as jails:
        jails.prepare_host()
    (hosts,) = paths.images.glob("*/root/etc/hosts")
    found = hosts.stat()
    hosts.write_text(hosts.read_text().replace("localhost", "localHOST"))
    os.utime(hosts, ns=(found.st_atime_ns, found.st_mtime_ns))
    with (
        Jails(paths, warm=warm) as jails,
        pytest.raises(IntegrityError, match="default is not what") as caught,
    ):
        jails.run(["true"], Policy())
    assert "image gc" in caught.value.remedy
    assert len(images.collect(paths.images).images) == 1
    with Jails(paths, warm=warm) as jails:
        jails.prepare_host()


def test_a_size_beyond_every_file_is_damage(tmp_path: Path) -> None:
    header = tarfile.TarInfo("huge")
    header.size = 1 << 61
    (tmp_path / "huge.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(SandboxError, match="ends inside a file"):
        foreign.from_archive(tmp_path / "images", tmp_path / "huge.tar")


def test_a_moved_store_is_read_once_and_trusted_again(own_store: Path) -> None:
    before = images.find_stored(own_store, "oci")
    with images.use(own_store, "oci"):
        pass
    after = images.find_stored(own_store, "oci")
    assert after.about.stamp != before.about.stamp
    assert after.image == before.image


def test_what_is_held_or_named_or_being_made_is_not_collected(own_store: Path) -> None:
    image = images.find(own_store, "oci")
    (own_store / "half.partial/root").mkdir(parents=True)
    assert images.collect(own_store, dry_run=True).images == ("half.partial",)
    assert (own_store / "half.partial").is_dir()
    assert images.collect(own_store) == images.Collected(("half.partial",), ())
    shutil.rmtree(own_store / ".names")
    with images.hold(image):
        assert images.collect(own_store) == images.Collected((), (image.digest,))
        assert images.find(own_store, image.digest) == image
    assert images.collect(own_store).images == (image.digest,)
    assert sorted(path.name for path in own_store.iterdir()) == [".lock"]
    with pytest.raises(NotFoundError, match="gone"), images.hold(image):
        pass


def test_nothing_is_collected_while_an_image_is_made(own_store: Path) -> None:
    from appliance.sandbox.image import building

    with building(own_store), pytest.raises(SandboxError, match="being made"):
        images.collect(own_store)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"format": 1}', "[" * 100_000, '{"format": 2, "root": 3}'])
def test_a_marker_that_makes_no_sense_is_no_image(own_store: Path, body: str) -> None:
    folder = Path(images.find(own_store, "oci").root).parent
    (folder / MARKER).write_text(body)
    assert images.listing(own_store) == []
    assert images.collect(own_store).images == (folder.name,)


def environment(folder: Path) -> Path:
    """A virtual environment with one package in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "tiny_package.py").write_text("ANSWER = 42\n")
    (site / "tiny_package-1.5.dist-info").mkdir()
    (site / "tiny_package-1.5.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.5\n"
    )
    return folder


@pytest.mark.jail
@needs_jails
def test_a_virtual_environment_is_pinned_and_its_packages_are_there(tmp_path: Path) -> None:
    folder = environment(tmp_path / "venv")
    found = interpreter_at(folder)
    assert ("tiny-package", "1.5") in found.packages
    assert found.binary == own_interpreter().binary
    assert host_key(found) != host_key(own_interpreter())
    assert interpreter_at(folder / "bin/python3") == found
    image = prepare(tmp_path / "images", found)
    stored = images.find_stored(tmp_path / "images", image.digest)
    assert dict(stored.about.packages)["tiny-package"] == "1.5"
    python = Path(image.interpreter).with_name("python3") if not found.is_system else "/usr/bin/python3"
    code, said = inside(image, str(python), "-c", "import tiny_package; print(tiny_package.ANSWER)")
    assert (code, said.strip()) == (0, "42")


def test_what_is_no_python_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    for path in (tmp_path / "absent", tmp_path, tmp_path / "python3"):
        with pytest.raises(ApplianceError) as caught:
            interpreter_at(path)
        assert caught.value.remedy


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() == before
