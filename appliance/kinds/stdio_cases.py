"""What a `stdio` task folder holds: cases as pairs of files, the gold program, perhaps a generator and a checker.

`NAME.in` and `NAME.out` are one case, of `public/` for everybody and of `tests/` for the judge. `hidden/generator.py`
prints the input of one more case; what is expected of it is what the gold program prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import TaskError
from appliance.examination import Layer
from appliance.kinds.stdio_checkers import CHECKERS, CUSTOM, Tolerance
from appliance.kinds.stdio_languages import LANGUAGES

GENERATOR = "hidden/generator.py"
CHECKER = "hidden/checker.py"
PARTS: Mapping[Layer, str] = {"quick": "public", "hidden": "tests"}
MAX_CASE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the program: what it reads, and what it must print."""

    layer: Layer
    index: int
    input: bytes
    expected: bytes


@dataclass(frozen=True, slots=True)
class Material:
    """Everything of a task folder that judging needs."""

    public: tuple[Case, ...]
    hidden: tuple[Case, ...]
    """Those that are files."""
    gold: bytes
    generator: bytes
    checker: bytes
    """Empty unless the task has its own."""


def tolerance(settings: Mapping[str, Any]) -> Tolerance:
    return Tolerance(float(settings.get("absolute", 0.0)), float(settings.get("relative", 0.0)))


def gold_path(settings: Mapping[str, Any]) -> str:
    return f"solution/{LANGUAGES[settings['language']].source}"


def read_material(folder: Path, settings: Mapping[str, Any]) -> Material:
    """Read and check a task folder; TaskError names the file and the remedy."""
    _check_settings(folder, settings)
    public, hidden = _read_cases(folder, "quick"), _read_cases(folder, "hidden")
    if not public:
        raise TaskError(f"{folder}/public: no case", remedy="add 1.in and 1.out, which the candidate may see")
    if not hidden and not settings.get("generated"):
        raise TaskError(f"{folder}/tests: no case", remedy=f"add 1.in and 1.out, or {GENERATOR}")
    for case in (*public, *hidden):
        _check_case(folder, case, settings)
    return Material(
        public,
        hidden,
        gold=_read(folder / gold_path(settings), "the gold program"),
        generator=_optional(folder / GENERATOR, "generated" in settings, "field 'generated'"),
        checker=_optional(folder / CHECKER, settings.get("checker") == CUSTOM, "checker = 'custom'"),
    )


def _check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    where, checker = f"{folder}/pool.toml [stdio]", settings.get("checker", "exact")
    given = [name for name in ("absolute", "relative") if name in settings]
    if checker == "floats" and not given:
        raise TaskError(f"{where}: checker 'floats' has no tolerance", remedy="add absolute or relative")
    if checker != "floats" and given:
        remedy = "write checker = 'floats', or leave it out"
        raise TaskError(f"{where}: field {given[0]!r} has no meaning for {checker!r}", remedy=remedy)
    if not settings.get("relative", 0.0) < 1 or not settings.get("absolute", 0.0) < float("inf"):
        raise TaskError(f"{where}: a tolerance that lets any number pass", remedy="write a smaller one")


def _read_cases(folder: Path, layer: Layer) -> tuple[Case, ...]:
    part = folder / PARTS[layer]
    inputs, outputs = ({path.stem: path for path in part.glob(f"*.{end}")} for end in ("in", "out"))
    for name in sorted(inputs.keys() ^ outputs.keys()):
        lacking = "out" if name in inputs else "in"
        raise TaskError(
            f"{part}/{name}.{lacking} is missing", remedy="a case is a pair of NAME.in and NAME.out"
        )
    names = sorted(inputs, key=lambda name: (len(name), name))
    return tuple(
        Case(layer, index, _read(inputs[name], "an input"), _read(outputs[name], "an output"))
        for index, name in enumerate(names)
    )


def _check_case(folder: Path, case: Case, settings: Mapping[str, Any]) -> None:
    """What is expected must itself be right, which a NaN never is."""
    checker = CHECKERS.get(settings.get("checker", "exact"))
    if checker and not checker(case.expected, case.expected, tolerance(settings)):
        where = f"{folder}/{PARTS[case.layer]}: case {case.index}"
        raise TaskError(f"{where}: no answer equals the expected output", remedy="expect no NaN")


def _read(path: Path, what: str) -> bytes:
    if not path.is_file():
        raise TaskError(f"{path} is missing", remedy=f"add {what}")
    if path.stat().st_size > MAX_CASE_BYTES:
        raise TaskError(f"{path}: more than {MAX_CASE_BYTES >> 20} MiB", remedy="write a smaller case")
    return path.read_bytes()


def _optional(path: Path, wanted: bool, why: str) -> bytes:
    """A file that is there exactly when the settings ask for it."""
    if wanted:
        return _read(path, f"the program that {why} asks for")
    if path.is_file():
        raise TaskError(
            f"{path} is there, but pool.toml [stdio] has no {why}", remedy="add it, or remove the file"
        )
    return b""
