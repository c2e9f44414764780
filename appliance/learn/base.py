"""A base is prepared once: rollout file and learner's copy from the same dequantised numbers.

`prepare` hashes the source, and unless that hash was prepared before, lets one child process write the F32 rollout
GGUF and a second one write the same numbers for torch. The folder is filled under a temporary name, `base.json`
last, then renamed; a lock keeps two runs from doing the work twice. The source is checked first, in
milliseconds: a damaged or unsupported file never starts a child. No heavy library is imported here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance.errors import ModelError, StoreError
from appliance.learn import child
from appliance.learn.architecture import tensor_names, transformers_config
from appliance.learn.header import GgufHeader, read_header

FORMAT = 1
_MARKER = "base.json"
_ROLLOUT = "rollout.gguf"
_MODEL = "model"
_SPARE_BYTES = 64 << 20
_SHOWN_ERROR = 600
_CHECK = "run `appliance doctor`, and check that the model file is complete and supported"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Base:
    """A prepared base."""

    folder: Path
    architecture: str
    source_sha256: str
    parameters: int
    rollout_type: str
    fingerprint: str
    """Over the hashes of source, rollout file and learner's copy."""

    @property
    def rollout_gguf(self) -> Path:
        return self.folder / _ROLLOUT

    @property
    def model_folder(self) -> Path:
        return self.folder / _MODEL


def prepare(source: Path, bases: Path, progress: Progress = lambda _message: None) -> Base:
    """Return the prepared base of `source`, made now if need be."""
    progress(f"checking {source.name}")
    header = read_header(source)
    tensor_names(header)
    transformers_config(header)
    digest = _sha256(source)
    folder = bases / f"{digest[:16]}-v{FORMAT}"
    bases.mkdir(parents=True, exist_ok=True)
    with _locked(bases / f"{folder.name}.lock"):
        if (folder / _MARKER).exists():
            return open_base(folder)
        shutil.rmtree(folder, ignore_errors=True)
        _check_space(header, bases)
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            _fill(header, digest, partial, progress)
            partial.replace(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return open_base(folder)


def open_base(folder: Path) -> Base:
    """Open a folder that `prepare` made."""
    try:
        record = json.loads((folder / _MARKER).read_text())
        for name, size in record.pop("bytes").items():
            if (folder / name).stat().st_size != size:
                raise ValueError(f"{name} does not have its recorded size")
        return Base(folder=folder, **record)
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise ModelError(
            f"{folder}: not a prepared base: {error}", remedy="delete the folder; it will be made again"
        ) from None


def _fill(header: GgufHeader, digest: str, folder: Path, progress: Progress) -> None:
    size = f"{header.parameters * 4 / 1e9:.1f} GB"
    rollout, model = folder / _ROLLOUT, folder / _MODEL
    progress(f"writing the rollout file, F32, {size}")
    _run_child("appliance.engine.requantize", header.path, rollout)
    progress(f"writing the learner's copy of the same numbers, {size}")
    _run_child("appliance.learn.convert", rollout, model)
    progress("hashing both")
    weights = model / "model.safetensors"
    parts = [str(FORMAT), digest, _sha256(rollout), _sha256(weights)]
    base = Base(
        folder=folder,
        architecture=header.architecture,
        source_sha256=digest,
        parameters=header.parameters,
        rollout_type="F32",
        fingerprint=hashlib.sha256(":".join(parts).encode()).hexdigest(),
    )
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in (rollout, weights)}
    record = asdict(base) | {"bytes": sizes}
    del record["folder"]
    (folder / _MARKER).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")


def _run_child(module: str, source: Path, target: Path) -> None:
    """Run one of our modules on two paths: a crash in a native library is then a message, not the end of us."""
    done = subprocess.run(
        child.command(module, str(source), str(target)),
        capture_output=True,
        check=False,
        env=child.environment(),
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        return
    message, remedy = _child_error(done.stdout, done.stderr)
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    raise ModelError(f"{source}: {module} failed ({how}): {message}", remedy=remedy)


def _child_error(stdout: bytes, stderr: bytes) -> tuple[str, str]:
    try:
        report = json.loads(stdout.splitlines()[-1])
        return str(report["error"]), str(report.get("remedy") or _CHECK)
    except (IndexError, KeyError, TypeError, ValueError):
        tail = stderr.decode("utf-8", errors="replace").strip()[-_SHOWN_ERROR:]
        return "".join(letter if letter.isprintable() else " " for letter in tail), _CHECK


def _check_space(header: GgufHeader, bases: Path) -> None:
    needed = 2 * 4 * header.parameters + _SPARE_BYTES
    free = shutil.disk_usage(bases).free
    if free < needed:
        raise StoreError(
            f"{bases}: preparing {header.path.name} needs {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free",
            remedy="free disk space, or point APPLIANCE_HOME at a larger disk",
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error}", remedy="check the file and its mode") from None
