"""`python -m appliance.engine.requantize SRC DST [F32|F16|BF16]`: write SRC's weights in a plain format.

Dequantising is exact: DST holds the very numbers that SRC's blocks stand for (rounded, for F16 and BF16). DST
appears only once it is complete. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import llama_cpp

from appliance.engine.cores import physical_cores
from appliance.engine.llama import Backend
from appliance.errors import ApplianceError, ModelError

FORMATS = {
    "F32": llama_cpp.LLAMA_FTYPE_ALL_F32,
    "F16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "BF16": llama_cpp.LLAMA_FTYPE_MOSTLY_BF16,
}


def requantize(source: Path, target: Path, form: str = "F32") -> None:
    """Write `source` to `target` in `form`."""
    if not source.is_file():
        raise ModelError(f"{source}: there is no such model file", remedy="check the path of the model")
    backend = Backend()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = FORMATS[form]
    params.allow_requantize = True
    # Output and embeddings too: without this the output matrix would be left as it is.
    params.pure = True
    params.nthread = physical_cores()
    partial = target.with_name(f"{target.name}.part")
    code = llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(partial), params)
    if code != 0:
        partial.unlink(missing_ok=True)
        raise ModelError(
            f"{source}: llama.cpp cannot convert this file: {backend.complaint}",
            remedy="check that the copy is complete, and that the disk has room",
        )
    partial.replace(target)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m appliance.engine.requantize", description=requantize.__doc__
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("form", nargs="?", default="F32", choices=sorted(FORMATS))
    given = parser.parse_args(arguments)
    try:
        requantize(given.source, given.target, given.form)
    except ApplianceError as error:
        print(json.dumps({"ok": False, "error": error.message, "remedy": error.remedy}))
        return error.exit_code
    print(json.dumps({"ok": True, "bytes": given.target.stat().st_size, "form": given.form}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
