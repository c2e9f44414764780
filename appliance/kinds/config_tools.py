"""What the probing programs of all consumers need; sent into the jail beside them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

TEXT_CAP = 400
PATIENCE_S = 60.0
"""Of one program; the jail's own limits are below it."""


class Refused(Exception):
    """The consumer does not take the configuration; in its own words."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text[-TEXT_CAP:]


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str = "/work", stdin: str = ""
) -> tuple[str, str]:
    """Output and errors of a program that must end with 0; Refused otherwise."""
    done = subprocess.run(
        command,
        env=env and {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/work", "LANG": "C.UTF-8", **env},
        cwd=cwd,
        input=stdin.encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    # Not as text: Python would make lines of carriage returns, and a value of the candidate's could pass for a line.
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    if done.returncode != 0:
        raise Refused(stderr.strip() or stdout.strip() or f"ended with {done.returncode}")
    return stdout, stderr


def lines(text: str) -> list[str]:
    """The lines of a text as the kernel and the consumers know them: `splitlines` knows many other ends."""
    return text.removesuffix("\n").split("\n") if text else []
