"""`python -m appliance.engine`: the engine process. Frames on stdin and stdout, everything else on stderr."""

from __future__ import annotations

import os
import signal
import sys

from appliance import stacks
from appliance.engine.server import ending_the_process, serve


def main() -> None:
    # Ctrl-C on a terminal reaches the whole group; only the parent decides when the engine ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stacks.answer(os.environ)
    # llama.cpp prints where it likes: keep the frames' descriptor for ourselves and point stdout at the log.
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with ending_the_process():
        serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
