"""sshd: its own answer (`sshd -T -C`) to what holds for one connection.

A question: `user`, `host`, `addr`, optionally `laddr` and `lport`, and `look`, the options asked for. The answer: for
each option all its values, in the order in which sshd says them. Groups are those of the jail, which has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import lines, run

SSHD = "/usr/sbin/sshd"
KEY = "/work/key"
_WORD = re.compile(r"[^,\s]+")


def answer(ask: dict[str, Any], files: Sequence[Path]) -> dict[str, list[str]]:
    run(("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", KEY))
    parts = [(name, str(ask[name])) for name in ("user", "host", "addr", "laddr", "lport") if name in ask]
    if not all(_WORD.fullmatch(value) for _, value in parts):
        raise ValueError("a connection with a blank or a comma in it")
    connection = ",".join(f"{name}={value}" for name, value in parts)
    stdout, _ = run((SSHD, "-T", "-f", str(files[0]), "-h", KEY, "-C", connection))
    said = [line.split(" ", 1) for line in lines(stdout) if " " in line]
    return {option: [value for name, value in said if name == option.lower()] for option in ask["look"]}
