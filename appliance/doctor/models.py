"""Checks of what computes: llama.cpp, torch, the starter model. Each of the first two runs in a child process."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from appliance.clean import clean_line
from appliance.doctor.findings import Finding, Machine, ask, bad, good, weak
from appliance.errors import ApplianceError
from appliance.starter import STARTER_SHA256, starter_model

_REBUILD = "rm -rf .venv ~/.cache/appliance/wheels && make check, with clang-16 and libomp-16-dev installed"


def llama_cpp(machine: Machine) -> Finding:
    """Decode a full batch with a tiny model, and with the starter model where there is one."""
    with tempfile.TemporaryDirectory(prefix="appliance-doctor-") as scratch:
        tiny = Path(scratch) / "tiny.gguf"
        _write_tiny(tiny)
        if fault := decode_fault(machine, tiny):
            return bad(f"tiny model: {fault}", _REBUILD)
    model = _starter_or_none(machine)
    if model is None:
        return good("a batch of 512 tokens was decoded with a tiny model")
    if fault := decode_fault(machine, model):
        return bad(f"starter model: {fault}", _REBUILD)
    if fault := decode_fault(machine, model, "--extra-buffers"):
        return weak(f"repacked weights (AMX) crash: {fault}", _REBUILD)
    return good(
        "a batch of 512 tokens was decoded with a tiny model and with the starter model, also repacked"
    )


def _write_tiny(path: Path) -> None:
    from appliance.learn.tiny import write_tiny_model

    write_tiny_model(path)


def _starter_or_none(machine: Machine) -> Path | None:
    try:
        return starter_model(machine.paths)
    except ApplianceError:
        return None  # The check `starter_model` says why.


def decode_fault(machine: Machine, model: Path, *options: str) -> str:
    """Decode a full batch of `model` in a child process; return what went wrong, or nothing."""
    return _probe(machine, "appliance.engine.probe", str(model), *options)[1]


def torch(machine: Machine) -> Finding:
    found, fault = _probe(machine, "appliance.learn.probe")
    if fault:
        return bad(fault, "pip install --force-reinstall 'torch==2.13.0'")
    return good(f"torch {found['torch']} on {found['device']}, bfloat16 off by {found['bf16_error']:.1%}")


def torch_device(machine: Machine) -> str:
    """The device that torch computes on by itself; empty when torch does not work."""
    return str(_probe(machine, "appliance.learn.probe")[0].get("device", ""))


def _probe(machine: Machine, module: str, *arguments: str) -> tuple[dict[str, Any], str]:
    """The JSON line that a probe printed, and what went wrong."""
    answer = ask([machine.python, "-P", "-m", module, *arguments])
    try:
        found: dict[str, Any] = json.loads(answer.output.splitlines()[-1])
    except (ValueError, IndexError):
        return {}, f"{answer.ending or 'no result'} ({answer.complaint})"
    if found.get("ok") and not answer.ending:
        return found, ""
    return found, clean_line(str(found.get("error") or answer.ending or "wrong numbers"), 400)


def starter(machine: Machine) -> Finding:
    """The packages are there and add up to the known hash; assembles the file when it is not yet cached."""
    return good(f"{starter_model(machine.paths)}, SHA-256 {STARTER_SHA256[:12]}… verified")
