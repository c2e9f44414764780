"""The layer `quality`: what a right submission is worth beyond being right.

A task asks for signals in the table `[quality]` of its pool.toml; without one nothing is measured:

    [quality]
    beta = 0.1                  # share of the reward that the secondary signals decide, 0 to 0.2

    [quality.static]            # one table for each signal of appliance/signals
    role = "secondary"          # secondary, gate or monitor
    weight = 2                  # of a secondary signal, in proportion to the others; 1 when it is not given
    allowance = 1               # of a signal that counts findings: how many new ones cost nothing

    [quality.security]
    role = "gate"               # takes the whole reward, or nothing
    at_least = 1.0              # the value from which it is open

R = gates × [(1−β)·C + β·C·Σ wⱼqⱼ] with Σ wⱼ = 1, where the second part exists only for a complete core. Tools run in
jails of an image of their own, which `Yard.tools` makes; the judge quantises.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import pkgutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from appliance import signals as signals_package
from appliance.clean import clean_line
from appliance.errors import NotFoundError, TaskError
from appliance.examination import Opener
from appliance.manifest import bytes_hash
from appliance.nouns import Signal, SignalRole, Task
from appliance.sandbox.client import TOOLS_REMEDY, tool_versions
from appliance.signals import SHOWN_TEXT, Exhibit, Reading, Wanted
from appliance.signals.start_tree import gold_files, python_files, start_files
from appliance.tables import Field, check_table

TABLE = "quality"
DEFAULT_BETA, HIGHEST_BETA = 0.1, 0.2
SHOWN_REMARKS = 5
"""Remarks of one signal that a record keeps."""
MOST_PYTHON_FILES = 2000
"""Of a tree that tools are to read."""

SETTINGS: Mapping[str, Field] = {"beta": Field(float, required=False)}
"""Fields of `[quality]` besides one table for each signal."""
_OPTIONS = {
    "role": Field(str),
    "weight": Field(float, required=False, minimum=0),
    "at_least": Field(float, required=False, minimum=0),
    "allowance": Field(int, required=False, minimum=-1),
}
_ONLY_OF = {"weight": "secondary", "at_least": "gate"}
"""Options that only one role has a use for."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What is measured of a right submission, and what it decides."""

    beta: float = 0.0
    """Share of the reward that the secondary signals decide; 0 when there is none of them."""
    signals: Mapping[str, Wanted] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.signals)


@dataclass(frozen=True, slots=True)
class Quality:
    """What was measured of one submission."""

    signals: Mapping[str, Signal]
    gates: Mapping[str, bool]
    """Of the signals that are gates; a closed one takes the whole reward."""
    findings: tuple[Mapping[str, Any], ...]
    """Evidence of layer `quality`: `outcome` is the signal's name, `text` is cleaned and capped."""
    reviews: Mapping[str, str]
    """Signals that a person should look at, with the reason."""
    seconds: float
    by_signal: Mapping[str, float]
    """Seconds that each signal took."""


def signal_names() -> tuple[str, ...]:
    """The signals there are: one file each in `appliance/signals`; helpers have an underscore in their name."""
    names = (module.name for module in pkgutil.iter_modules(signals_package.__path__))
    return tuple(sorted(name for name in names if "_" not in name))


def load_signal(name: str) -> ModuleType:
    """The module of a signal."""
    return importlib.import_module(f"appliance.signals.{name}")


def read(table: Mapping[str, Any] | None, where: str) -> Spec:
    """The specification that a table (found at `where`, such as `pool.toml [quality]`) stands for.

    None is no table: nothing is measured. TaskError names the key and the nearest known one.
    """
    if table is None:
        return Spec()
    names = signal_names()
    check_table(
        where, table, {**SETTINGS, **{name: Field(dict, required=False) for name in names}}, TaskError
    )
    beta = float(table.get("beta", DEFAULT_BETA))
    # A NaN fails both comparisons.
    if not 0 <= beta <= HIGHEST_BETA:
        raise TaskError(
            f"{where}: field 'beta': {beta!r} is not between 0 and {HIGHEST_BETA:g}",
            remedy="being right is worth the rest; write a smaller share",
        )
    asked = {name: _options(f"{where} [{name}]", name, table[name]) for name in names if name in table}
    if not asked:
        raise TaskError(f"{where} names no signal", remedy=f"add one of: {', '.join(names)}")
    total = sum(wanted.weight for wanted in asked.values())
    shares = {name: _with_share(wanted, total) for name, wanted in asked.items()}
    return Spec(beta if total else 0.0, shares)


def _options(where: str, name: str, table: Mapping[str, Any]) -> Wanted:
    signal = load_signal(name)
    allowed = {**_OPTIONS, "role": Field(str, choices=signal.ROLES)}
    if "allowance" not in signal.OPTIONS:
        del allowed["allowance"]
    check_table(where, table, allowed, TaskError)
    role: SignalRole = table["role"]
    for option, only in _ONLY_OF.items():
        if option in table and role != only:
            raise TaskError(
                f"{where}: field {option!r} is for the role {only!r}, not {role!r}", remedy="leave it out"
            )
    weight = float(table.get("weight", 1.0)) if role == "secondary" else 0.0
    at_least = float(table.get("at_least", 1.0))
    if not math.isfinite(weight) or not at_least <= 1:
        raise TaskError(f"{where}: a weight that is no number, or a gate that never opens", remedy="lower it")
    return Wanted(role, weight, at_least, int(table.get("allowance", 0)))


def _with_share(wanted: Wanted, total: float) -> Wanted:
    return Wanted(wanted.role, wanted.weight / total if total else 0.0, wanted.at_least, wanted.allowance)


def check(spec: Spec, task: Task) -> None:
    """Say now what would fail or mean nothing later.

    TaskError for a signal that has nothing to look at in this task, NotFoundError for a tool that is not installed.
    """
    here = tool_versions()
    for name in spec.signals:
        where, signal = f"{task.folder}/pool.toml [{TABLE}.{name}]", load_signal(name)
        if why := signal.applies(task):
            raise TaskError(f"{where}: {why}", remedy="leave the signal out")
        for tool in signal.TOOLS:
            if tool not in here:
                raise NotFoundError(f"{where}: {tool} is not installed", remedy=TOOLS_REMEDY)
        if signal.LANGUAGE == "python" and len(python_files(start_files(task))) > MOST_PYTHON_FILES:
            raise TaskError(
                f"{where}: the start holds more than {MOST_PYTHON_FILES} files in Python",
                remedy="leave the signal out, or make the tree smaller",
            )


def measure(
    spec: Spec,
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
    *,
    tools: Opener,
) -> Quality:
    """Measure a submission whose core is complete. `jails`: the task's; `tools`: of the tools' image (`Yard.tools`).

    SandboxError is the host's failure; whatever a submission does to a tool is a low value.
    """
    begun = clock()
    exhibit = Exhibit(task, artefacts, start_files(task), gold_files(task), jails, tools, seed, clock)
    readings: dict[str, Reading] = {}
    by_signal: dict[str, float] = {}
    for name, wanted in spec.signals.items():
        started = clock()
        readings[name] = load_signal(name).read(exhibit, wanted)
        by_signal[name] = clock() - started
    return Quality(
        signals={name: _signal(found, spec.signals[name]) for name, found in readings.items()},
        gates={
            name: readings[name].value >= wanted.at_least
            for name, wanted in spec.signals.items()
            if wanted.role == "gate"
        },
        findings=tuple(row for name, found in readings.items() for row in _evidence(name, found)),
        reviews={name: found.review for name, found in readings.items() if found.review},
        seconds=clock() - begun,
        by_signal=by_signal,
    )


def _signal(found: Reading, wanted: Wanted) -> Signal:
    return Signal(found.raw, min(1.0, max(0.0, found.value)), wanted.weight, wanted.role)


def _evidence(name: str, found: Reading) -> list[Mapping[str, Any]]:
    """What a record keeps of a reading: a few remarks, in one clean line each."""
    told = [("review", found.review)] if found.review else []
    told += [("n/a", found.not_applicable)] if found.not_applicable else []
    told += [(name, remark.told()) for remark in found.remarks[:SHOWN_REMARKS]]
    if more := len(found.remarks) - SHOWN_REMARKS:
        told += [(name, f"and {more} more")] if more > 0 else []
    return [
        {"layer": "quality", "signal": name, "outcome": outcome, "text": _shown(text)}
        for outcome, text in told
    ]


def _shown(text: str) -> str:
    return clean_line(text[: 4 * SHOWN_TEXT], SHOWN_TEXT)


def factor(spec: Spec, signals: Mapping[str, Signal]) -> float:
    """Σ wⱼqⱼ over the secondary signals, in [0, 1]; 1 where there is none."""
    secondary = {name: wanted for name, wanted in spec.signals.items() if wanted.role == "secondary"}
    if not secondary:
        return 1.0
    # Rounded, so that shares which only nearly sum to 1 take nothing from a submission without a fault.
    return round(math.fsum(wanted.weight * signals[name].value for name, wanted in secondary.items()), 12)


def blended(spec: Spec, core: float, signals: Mapping[str, Signal]) -> float:
    """(1−β)·C + β·C·Σ wⱼqⱼ, in [0, 1]. Where signals were not measured (an incomplete core), the second part is 0."""
    if core >= 1.0 or not spec.beta:
        return (1.0 - spec.beta) * core + spec.beta * core * factor(spec, signals)
    return (1.0 - spec.beta) * core


def fingerprint(spec: Spec) -> str:
    """What measures: the specification, the sources of its signals, their configurations and the tools' versions.

    Part of a verifier's hash: another version of a tool is another verifier. Empty when nothing is measured.
    """
    if not spec:
        return ""
    folder, here = Path(signals_package.__file__).parent, tool_versions()
    sources = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py"))}
    used = {name: load_signal(name) for name in spec.signals}
    about = {
        "spec": {"beta": spec.beta, **{name: asdict(wanted) for name, wanted in spec.signals.items()}},
        "configs": {
            name: hashlib.sha256(signal.CONFIG.encode()).hexdigest() for name, signal in used.items()
        },
        "tools": {tool: here.get(tool, "") for signal in used.values() for tool in signal.TOOLS},
    }
    return bytes_hash(
        {
            **sources,
            "quality.py": Path(__file__).read_bytes(),
            "about": json.dumps(about, sort_keys=True).encode(),
        }
    )
