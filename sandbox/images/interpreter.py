"""Which Python jails get: ours, or one that the user names, with what is installed for it."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.clean import clean_line
from appliance.errors import NotFoundError, SandboxError

COVERED = ("/proc", "/tmp", "/work", "/job", "/dev", "/usr/bin", "/usr/lib", "/.jail")
"""Where a jail shows something else than the image."""
ANSWER_S = 60.0
_QUESTION = """
import importlib.metadata, json, site, sys, sysconfig
paths = sysconfig.get_paths()
packages = {found.metadata["Name"]: found.version for found in importlib.metadata.distributions()}
print(json.dumps({
    "base_prefix": sys.base_prefix, "version": sys.version, "short": "%d.%d" % sys.version_info[:2],
    "platlibdir": sys.platlibdir, "stdlib": paths["stdlib"],
    "sites": sorted({paths["purelib"], paths["platlib"]}), "places": site.getsitepackages(),
    "packages": sorted((name, version) for name, version in packages.items() if name),
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for jails, and what of its environment is copied with it."""

    prefix: Path
    binary: Path
    library: Path
    """Folder of the standard library."""
    version: str = sys.version
    packages: tuple[tuple[str, str], ...] = ()
    """Names and versions of what is copied."""
    sites: tuple[Path, ...] = ()
    """Folders of installed packages, to be copied."""
    place: str = ""
    """Inside: the folder of its own that the interpreter finds packages in."""
    wanted: tuple[str, ...] = ()
    """The only entries of the sites that are copied; empty is all."""
    programs: tuple[Path, ...] = ()
    """Copied to where the search path finds them."""

    @property
    def is_system(self) -> bool:
        return self.prefix == Path("/usr")

    def unwanted(self, folder: str, names: list[str]) -> set[str]:
        """Which names of a folder are not copied, as `shutil.copytree` asks."""
        return set(names) - set(self.wanted) if self.wanted and Path(folder) in self.sites else set()


def own_interpreter() -> Interpreter:
    """The interpreter under the virtual environment, at its real path, without what is installed for it."""
    short = f"{sys.version_info[0]}.{sys.version_info[1]}"
    prefix, library = _located(sys.base_prefix, short, sys.platlibdir, sysconfig.get_path("stdlib"))
    return Interpreter(prefix, (prefix / "bin" / f"python{short}").resolve(), library)


def interpreter_at(path: Path) -> Interpreter:
    """The interpreter or virtual environment at `path`, with its packages.

    NotFoundError when there is none, SandboxError when it does not run or a jail cannot show it.
    """
    path = path.absolute()
    program = path / "bin" / "python3" if path.is_dir() else path
    if not program.is_file():
        raise NotFoundError(f"no Python at {path}", remedy="give an interpreter or a virtual environment")
    answer = _ask(program)
    short = str(answer["short"])
    prefix, library = _located(answer["base_prefix"], short, answer["platlibdir"], answer["stdlib"])
    binary = (prefix / "bin" / f"python{short}").resolve()
    sites = [Path(site).resolve() for site in answer["sites"]]
    # A folder that jails see anyway needs no copy.
    copied = tuple(site for site in dict.fromkeys(sites) if site.is_dir() and not _is_covered(site, _SHOWN))
    places = [place for place in _ask(binary)["places"] if not _is_covered(Path(place), COVERED)]
    if copied and not places:
        raise SandboxError(f"Python at {prefix} looks for packages nowhere a jail can show them")
    packages = tuple((str(name), str(version)) for name, version in answer["packages"]) if copied else ()
    place = str(places[0]) if copied else ""
    return Interpreter(prefix, binary, library, answer["version"], packages, copied, place)


_SHOWN = ("/usr/bin", "/usr/lib")


def _ask(program: Path) -> dict[str, Any]:
    try:
        said = subprocess.run(
            [program, "-I", "-c", _QUESTION], capture_output=True, check=True, timeout=ANSWER_S, cwd="/"
        )
        answer: dict[str, Any] = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(
            f"Python at {program} does not run: {_why(error)}",
            remedy="give a CPython 3 that runs on this machine",
        ) from error
    return answer


def _why(error: Exception) -> str:
    """In one line, and without the program that was to be run."""
    if isinstance(error, subprocess.CalledProcessError):
        said = clean_line(error.stderr.decode(errors="replace").strip().rpartition("\n")[2], 200)
        return (
            f"it ended with {error.returncode}, and said: {said}"
            if said
            else f"it ended with {error.returncode}"
        )
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {ANSWER_S:g} s"
    return "it does not answer as a Python does" if isinstance(error, ValueError) else str(error)


def _located(base: str, short: str, platlibdir: str, stdlib: str) -> tuple[Path, Path]:
    """Prefix and standard library at their real paths; SandboxError when a jail cannot have them there."""
    prefix = Path(base).resolve()
    library = prefix / platlibdir / f"python{short}"
    if not (library / "os.py").is_file():
        library = Path(stdlib).resolve()
    if not (prefix / "bin" / f"python{short}").is_file() or not library.is_relative_to(prefix):
        raise SandboxError(
            f"no usable Python below {prefix}", remedy="make the environment with an ordinary CPython build"
        )
    if _is_covered(prefix, COVERED):
        raise SandboxError(f"a jail cannot show Python at {prefix}", remedy="install Python somewhere else")
    return prefix, library


def _is_covered(path: Path, folders: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
