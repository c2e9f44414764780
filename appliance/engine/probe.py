"""`python -m appliance.engine.probe MODEL`: decode one full batch and print one JSON line.

Run as a child process: on some processors and builds the first large batch ends in an illegal instruction, and
then the exit status is the finding. The caller should set `OMP_WAIT_POLICY=passive`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from appliance.engine.cores import physical_cores
from appliance.engine.llama import N_BATCH, Backend, Batch, Context, Model
from appliance.errors import ApplianceError


def probe(path: Path, *, extra_buffers: bool = False, gpu_layers: int = 0) -> dict[str, object]:
    """What a batch of 512 tokens did."""
    backend = Backend()
    model = Model(backend, path, extra_buffers=extra_buffers, gpu_layers=gpu_layers)
    context = Context(model, cells=N_BATCH, sequences=1, threads=physical_cores())
    batch = Batch(context.max_outputs)
    ids = np.random.Generator(np.random.PCG64(0)).integers(0, model.n_vocab, N_BATCH)
    batch.add(ids.tolist(), 0, 0, 1)
    started = time.monotonic()
    context.decode(batch)
    seconds = time.monotonic() - started
    return {
        "ok": bool(np.isfinite(context.logits()).all()),
        "tokens": N_BATCH,
        "seconds": round(seconds, 4),
        "architecture": model.architecture,
        "file_type": model.file_type,
        "extra_buffers": extra_buffers,
        "build": backend.build(),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m appliance.engine.probe", description=probe.__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--extra-buffers", action="store_true", help="let llama.cpp repack weights (AMX)")
    parser.add_argument("--gpu-layers", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        found = probe(given.model, extra_buffers=given.extra_buffers, gpu_layers=given.gpu_layers)
    except ApplianceError as error:
        found = {"ok": False, "error": error.message, "remedy": error.remedy}
    print(json.dumps(found))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
