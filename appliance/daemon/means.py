"""Whether this machine has what a recipe asks for, found out before a run is recorded. Costs nothing by default."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from appliance.doctor.findings import Machine
from appliance.doctor.models import decode_fault, torch_device
from appliance.errors import ConfigError, SandboxError
from appliance.paths import Paths
from appliance.recipe import Recipe
from appliance.sandbox.client import JailStatus
from appliance.sandbox.policy import Policy
from appliance.sandbox.remote import RemoteJails
from appliance.yard import Client


def check_means(recipe: Recipe, paths: Paths, jails: Client) -> None:
    """ConfigError for a setting that cannot be had here."""
    machine = Machine(paths, sys.executable)
    if recipe.judge.audit_share:
        _check_audit(recipe.judge.audit_share, jails)
    if recipe.learner.device == "cuda":
        _check_device(machine)
    if recipe.engine.gpu_layers:
        _check_offload(recipe.engine.gpu_layers, machine)


def _check_audit(share: float, jails: Client) -> None:
    what = f"'judge.audit_share' is {share:g}, but"
    if isinstance(jails, RemoteJails):
        raise ConfigError(
            f"{what} a jailer starts the jails here, and audits no conversation",
            remedy="judge.audit_share = 0, or appliance train in a folder of your own",
        )
    try:
        result, report = jails.audit(["true"], Policy())
    except SandboxError as error:
        raise ConfigError(
            f"{what} {error.message}", remedy=f"{error.remedy}; or judge.audit_share = 0"
        ) from error
    if result.status != JailStatus.ok or not report.complete:
        said = result.detail or report.trouble or "its report is not complete"
        raise ConfigError(
            f"{what} a jail could not run `true` under trace: {said}", remedy="judge.audit_share = 0"
        )


def _check_device(machine: Machine) -> None:
    device = torch_device(machine)
    if device == "cpu":
        raise ConfigError(
            "'learner.device' is 'cuda', but torch finds no CUDA device here",
            remedy="write auto or cpu, or install the CUDA build of torch (appliance doctor torch)",
        )


def _check_offload(layers: int, machine: Machine) -> None:
    """Decode a batch of a tiny model as the engine would."""
    from appliance.learn.tiny import write_tiny_model

    with tempfile.TemporaryDirectory(prefix="appliance-") as scratch:
        tiny = Path(scratch) / "tiny.gguf"
        write_tiny_model(tiny)
        fault = decode_fault(machine, tiny, "--gpu-layers", str(layers))
    if fault:
        raise ConfigError(
            f"'engine.gpu_layers' is {layers}, but {fault}",
            remedy="engine.gpu_layers = 0, or build with CUDA: remove .venv, then APPLIANCE_CUDA=1 make check",
        )
