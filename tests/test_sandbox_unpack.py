"""Layers against the unpacker: what honest ones become, and every hostile one of the catalogue, B18 to B24.

Each test ends with a look at what lies beside the root: nothing there may have changed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from appliance.errors import SandboxError
from appliance.sandbox.images.tar import MAX_HEADER_BYTES, members
from appliance.sandbox.images.unpack import Caps, Inflated, Meter, Tree, apply

SMALL = Caps(bytes=8 << 20, entries=200, depth=10, ratio=50, ratio_from=1 << 20)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """An empty root beside things that no layer may touch."""
    (tmp_path / "host").mkdir()
    (tmp_path / "host/secret").write_text("untouched")
    (tmp_path / "root").mkdir()
    before = beside(tmp_path)
    yield tmp_path / "root"
    assert beside(tmp_path) == before


def beside(folder: Path) -> list[tuple[str, int, int, str]]:
    found = []
    for path in sorted(folder.rglob("*")):
        if (folder / "root") not in (path, *path.parents):
            facts = path.lstat()
            body = path.read_text() if path.is_file() else ""
            found.append((str(path), facts.st_mode, facts.st_nlink, body))
    return found


def entry(
    name: str, body: bytes = b"", kind: bytes = tarfile.REGTYPE, **fields: object
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(body)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, body


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, kind=kind, linkname=target)


def folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, kind=tarfile.DIRTYPE)


def layer(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, body in entries:
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def unpack(root: Path, *layers: bytes, caps: Caps = SMALL, whiteouts: bool = True) -> Meter:
    meter = Meter(caps)
    with Tree(root) as tree:
        for body in layers:
            plain = Inflated(io.BytesIO(body), meter)
            apply(tree, members(plain.read, plain.skip), meter, whiteouts=whiteouts)
            plain.finish()
    return meter


def tree_of(root: Path) -> dict[str, str]:
    """Path to contents, link target, or nothing for a folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        found[name] = (
            f"-> {path.readlink()}" if path.is_symlink() else path.read_text() if path.is_file() else "/"
        )
    return found


def refused(root: Path, *layers: bytes, match: str = "refused", caps: Caps = SMALL) -> None:
    with pytest.raises(SandboxError, match=match) as caught:
        unpack(root, *layers, caps=caps)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "pack",
    [lambda body: body, gzip.compress, zstandard.ZstdCompressor().compress],
    ids=["plain", "gzip", "zstd"],
)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_honest_entries_arrive(root: Path, pack: Callable[[bytes], bytes], form: int) -> None:
    deep = "deep/" * 5 + "n" * 60
    body = layer(
        entry("./bin/run", b"#!", mode=0o4755, mtime=1000),
        entry("etc/data", b"12345", mode=0o600),
        *(link("usr-bin", "/bin"), link("etc/again", "etc/data", tarfile.LNKTYPE), folder("empty/")),
        *((entry(deep, b"long"),) if form != tarfile.USTAR_FORMAT else ()),
        form=form,
    )
    unpack(root, pack(body))
    assert (root / "bin/run").lstat().st_mode == stat.S_IFREG | 0o755
    assert (root / "bin/run").stat().st_mtime == 1000
    assert (root / "etc/data").lstat().st_mode == stat.S_IFREG | 0o644
    assert (root / "etc/again").samefile(root / "etc/data")
    assert (root / "usr-bin").readlink() == Path("/bin")
    assert (root / "empty").is_dir()
    if form != tarfile.USTAR_FORMAT:
        assert (root / deep).read_bytes() == b"long"


def test_long_and_odd_names_survive_exactly(root: Path) -> None:
    names = [
        "n" * 200,
        "é" * 100,
        "-rf",
        "new\nline",
        "\x1b[31mred",
        os.fsdecode(b"raw\xff\xfe"),
        " ",
        "a\\b",
    ]
    unpack(root, layer(*(entry(name, b"x") for name in names)))
    assert sorted(path.name for path in root.iterdir()) == sorted(names)


def test_the_digest_is_of_what_was_decompressed(root: Path) -> None:
    body = layer(entry("a", b"x"))
    plain = Inflated(io.BytesIO(gzip.compress(body)), Meter(SMALL))
    list(members(plain.read, plain.skip))
    assert plain.finish() == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_b18_zeros_without_end_meet_the_ratio(root: Path, pack: Callable[[bytes], bytes]) -> None:
    refused(root, pack(layer(entry("zeros", bytes(6 << 20)))), match="more than 50 bytes for each")


def test_b18_bytes_of_all_layers_meet_one_cap(root: Path) -> None:
    body = layer(entry("noise", os.urandom(5 << 20)))
    refused(root, body, body, match=f"more than {SMALL.bytes} bytes")


def test_b18_a_size_that_only_the_header_claims_costs_nothing(root: Path) -> None:
    body = bytearray(layer(entry("big", b"x")))
    info = tarfile.TarInfo("big")
    info.size = 1 << 42
    body[:512] = info.tobuf(tarfile.GNU_FORMAT)
    refused(root, bytes(body), match="ends inside a file")


def test_b18_entries_and_depth_meet_their_caps(root: Path) -> None:
    refused(root, layer(*(entry(str(n)) for n in range(201))), match="more than 200 entries")
    refused(root, layer(entry("d/" * 10 + "f")), match="deeper than 10")


def test_b18_a_nested_archive_is_a_file_and_a_huge_header_is_refused(root: Path) -> None:
    inner = gzip.compress(layer(entry("inner", b"x")))
    unpack(root, layer(entry("a.tar.gz", inner)))
    assert (root / "a.tar.gz").read_bytes() == inner
    bomb = entry("x", pax_headers={"SCHILY.xattr.user.bomb": "v" * (MAX_HEADER_BYTES + 1)})
    refused(root, layer(bomb), match="extended header")


@pytest.mark.parametrize(
    "name",
    [
        "../out",
        "a/../../out",
        "a/..",
        "..",
        "/absolute",
        "//host",
        "a/./../b",
        "n" * 256,
        "p/" * 8 + "x" * 3000,
    ],
)
def test_b19_names_that_lead_elsewhere_are_refused(root: Path, name: str) -> None:
    refused(root, layer(folder("a"), entry(name, b"x")))
    assert set(tree_of(root)) <= {"a"}


@pytest.mark.parametrize("target", ["../host", "{host}", "/", "..", "a/../../host", "absent/x", "/../../.."])
def test_b19_what_is_written_through_a_link_stays_in_the_root(root: Path, target: str) -> None:
    outside = target.format(host=root.parent / "host")
    kept = tree_of(root.parent / "host")
    unpack(
        root,
        layer(folder("a"), link("door", outside), entry("door/secret", b"changed")),
        layer(folder("door/new")),
    )
    assert tree_of(root.parent / "host") == kept
    found = tree_of(root)
    assert sorted(path.rpartition("/")[2] for path, body in found.items() if body == "changed") == ["secret"]
    assert any(path.split("/")[-1] == "new" for path in found)


def test_a_tool_below_a_linked_folder_arrives(root: Path) -> None:
    body = layer(folder("usr/bin"), link("bin", "usr/bin"), entry("bin/tool", b"x"), link("lib", "/usr/lib"))
    unpack(root, body, layer(entry("lib/new", b"y"), link("hard", "bin/tool", tarfile.LNKTYPE)))
    assert tree_of(root)["usr/bin/tool"] == tree_of(root)["hard"] == "x"
    assert tree_of(root)["usr/lib/new"] == "y"
    assert (root / "bin").is_symlink()


def test_what_came_through_a_link_is_not_hidden_by_its_own_layer(root: Path) -> None:
    first = layer(entry("usr/bin/old", b"x"), link("bin", "usr/bin"))
    unpack(root, first, layer(entry("bin/new", b"y"), entry("usr/bin/.wh..wh..opq")))
    assert "usr/bin/new" in tree_of(root)
    assert "usr/bin/old" not in tree_of(root)


@pytest.mark.parametrize(
    "links",
    [
        {"a": "a"},
        {"a": "b", "b": "a"},
        {"a": "a/a"},
        {f"{letter}": "/".join([chr(ord(letter) + 1)] * 30) for letter in "abcdefgh"},
    ],
)
def test_links_without_end_are_refused(root: Path, links: dict[str, str]) -> None:
    body = layer(*(link(name, target) for name, target in links.items()), entry("a/x", b"x"))
    refused(root, body, match="too many links|too deep")


def test_a_way_through_a_file_is_refused(root: Path) -> None:
    refused(root, layer(entry("f", b"x"), link("door", "f"), entry("door/y", b"y")), match="link or file")


def test_b19_a_file_replaces_a_link_instead_of_following_it(root: Path) -> None:
    unpack(root, layer(link("door", str(root.parent / "host/secret")), entry("door", b"changed")))
    assert tree_of(root) == {"door": "changed"}


@pytest.mark.parametrize(
    "target", ["../host/secret", "{host}/secret", "door/secret", "absent", "a", "", "link"]
)
def test_b19_a_hard_link_reaches_only_files_of_the_image(root: Path, target: str) -> None:
    target = target.format(host=root.parent / "host")
    body = layer(
        folder("a"),
        link("door", "../host"),
        link("link", "../host/secret"),
        link("hard", target, tarfile.LNKTYPE),
    )
    refused(root, body)


def test_b19_a_hard_link_to_itself_changes_nothing(root: Path) -> None:
    unpack(root, layer(entry("a", b"kept"), link("a", "./a", tarfile.LNKTYPE)))
    assert tree_of(root) == {"a": "kept"}


@pytest.mark.parametrize(
    "name", [".wh...", ".wh..", ".wh.", "a/.wh...", "a/.wh.b/c", "../.wh.host", "a/../.wh.a"]
)
def test_b20_a_whiteout_that_names_no_entry_is_refused(root: Path, name: str) -> None:
    refused(root, layer(entry("a/b", b"x")), layer(entry(name)))


def test_b20_a_whiteout_through_a_link_or_as_a_link_is_refused(root: Path) -> None:
    refused(root, layer(link("door", "../host")), layer(entry("door/.wh.secret")), match="through a link")
    refused(
        root,
        layer(link("door", "../host")),
        layer(link(".wh.x", "door/secret", tarfile.LNKTYPE)),
        match="whiteout",
    )
    refused(root, layer(entry(".wh.x", kind=tarfile.CHRTYPE)), match="whiteout")


def test_b20_whiteouts_hide_lower_layers_only_in_any_order(root: Path) -> None:
    lower = layer(entry("gone", b"x"), entry("d/old", b"x"), entry("d/sub/old", b"x"), entry("kept", b"x"))
    upper = layer(
        entry("d/sub/new", b"y"),
        entry("d/.wh..wh..opq"),
        entry(".wh.gone"),
        entry(".wh.absent"),
        entry("d/new", b"y"),
    )
    unpack(root, lower, upper)
    assert tree_of(root) == {"d": "/", "d/new": "y", "d/sub": "/", "d/sub/new": "y", "kept": "x"}


def test_b20_an_opaque_root_empties_the_root_and_nothing_above(root: Path) -> None:
    unpack(
        root, layer(entry("a/b", b"x"), link("up", "..")), layer(entry(".wh..wh..opq"), entry("new", b"y"))
    )
    assert tree_of(root) == {"new": "y"}


def test_b20_in_a_plain_root_the_names_mean_nothing(root: Path) -> None:
    unpack(root, layer(entry("a", b"x"), entry(".wh.a", b"")), whiteouts=False)
    assert tree_of(root) == {".wh.a": "", "a": "x"}


def test_b21_a_folder_that_becomes_a_link_leads_nowhere(root: Path) -> None:
    first = layer(entry("d/secret", b"x"))
    unpack(root, first, layer(link("d", "../host"), entry("d/secret", b"changed")))
    assert (root / "d").is_symlink()
    assert tree_of(root)["host/secret"] == "changed"
    assert "changed" not in tree_of(root.parent / "host").values()


def test_b21_a_link_that_becomes_a_folder_is_replaced(root: Path) -> None:
    unpack(root, layer(link("lib", "../host")), layer(folder("lib"), entry("lib/secret", b"x")))
    assert tree_of(root) == {"lib": "/", "lib/secret": "x"}


def test_b23_the_last_of_two_counts_and_is_told(root: Path) -> None:
    meter = unpack(root, layer(entry("a", b"1"), entry("./a", b"2"), entry("B", b"x"), entry("b", b"y")))
    assert tree_of(root) == {"B": "x", "a": "2", "b": "y"}
    assert len(meter.notes) == 2
    assert "named twice" in meter.notes[0]
    assert "only in case" in meter.notes[1]


def test_b23_notes_are_capped(root: Path) -> None:
    meter = unpack(root, layer(*(entry("a") for _ in range(150))))
    assert len(meter.notes) == 100
    assert meter.more_notes == 49


def test_b24_attributes_capabilities_and_set_id_bits_are_dropped(root: Path) -> None:
    attributes = {
        "SCHILY.xattr.security.capability": "\x01\x00\x00\x02",
        "SCHILY.xattr.user.note": "v" * 1000,
        "SCHILY.acl.access": "user::rwx",
        "LIBARCHIVE.xattr.user.x": "eA",
    }
    unpack(root, layer(entry("a", b"x", mode=0o6777, uid=0, pax_headers=attributes), folder("d")))
    assert os.listxattr(root / "a") == []
    assert (root / "a").lstat().st_mode == stat.S_IFREG | 0o755


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_b24_devices_and_pipes_are_left_out_and_told(root: Path, kind: bytes) -> None:
    meter = unpack(root, layer(entry("dev/null", kind=kind, devmajor=1, devminor=3)))
    assert tree_of(root) == {}
    assert "left out" in meter.notes[0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: b"",
        lambda body: body[:700],
        lambda body: body[:1024],
        lambda body: body[:3] + b"\xff" + body[4:],
        lambda body: b"PK\x03\x04" + bytes(600),
        lambda body: gzip.compress(body)[:-9],
        lambda body: gzip.compress(body)[:40] + bytes(50),
        lambda body: zstandard.ZstdCompressor().compress(body)[:60] + bytes(50),
        lambda body: b"\xfd7zXZ\0" + body,
    ],
)
def test_damage_is_one_clear_error(root: Path, damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(SandboxError) as caught:
        unpack(root, damage(layer(entry("a", os.urandom(300)), entry("b", os.urandom(300)))))
    assert caught.value.remedy


@pytest.mark.parametrize(
    "record", [b"9 path=x", b"99 path=x\n", b"path=x\n", b"0 a=b\n", b"10 size=-1\n", b"11 size=1_0\n"]
)
def test_extended_headers_are_read_strictly(root: Path, record: bytes) -> None:
    head = tarfile.TarInfo("h")
    head.type, head.size = tarfile.XHDTYPE, len(record)
    body = head.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0") + layer(entry("a", b"x"))
    refused(root, body)


def test_a_sparse_file_or_an_unknown_kind_is_refused(root: Path) -> None:
    refused(root, layer(entry("a", pax_headers={"GNU.sparse.major": "1"})), match="sparse")
    refused(root, layer(entry("a", kind=b"V")), match="kind")


def test_hostile_names_in_an_error_cannot_reach_the_terminal(root: Path) -> None:
    with pytest.raises(SandboxError) as caught:
        unpack(root, layer(entry("../\x1b]0;owned\x07\n", b"x")))
    assert not set("\x1b\x07\n") & set(caught.value.message)
