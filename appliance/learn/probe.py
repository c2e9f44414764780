"""`python -m appliance.learn.probe`: one bfloat16 product on the learner's device, as one JSON line.

Run as a child process, so that a crash of torch is a finding.
"""

from __future__ import annotations

import json
import sys

import torch

SIDE = 512
LIMIT = 0.02
"""Relative error; rounding both factors and the result to 8 bits of mantissa gives about 0.003."""


def probe() -> dict[str, object]:
    """What a product of two random matrices did."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(2, SIDE, SIDE, generator=generator).to(device)
    exact = left @ right
    rounded = (left.bfloat16() @ right.bfloat16()).float()
    error = float((rounded - exact).norm() / exact.norm())
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"ok": error < LIMIT, "device": name, "torch": torch.__version__, "bf16_error": error}


if __name__ == "__main__":
    result = probe()
    print(json.dumps(result))
    sys.exit(0 if result["ok"] else 1)
