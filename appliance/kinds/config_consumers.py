"""The consumers that a `config` task may name, one entry each: what they need, what a question to them holds.

A consumer `x` is asked by the program `config_x` in the jail. Another one is an entry here and a file beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from appliance.examination import Finding
from appliance.kinds import config_screens as screens
from appliance.kinds.config_screens import Allowed, Files
from appliance.tables import Field


@dataclass(frozen=True, slots=True)
class Consumer:
    """What the judge knows of one consumer."""

    ask: Mapping[str, Field]
    """The form of a question."""
    screen: Callable[[Files, Allowed], Finding | None]
    """What needs no consumer to be refused."""
    programs: tuple[str, ...] = ()
    """Programs that the jail must have."""
    package: str = ""
    """What installs them on Debian."""
    features: tuple[str, ...] = ()
    """Words that a task may write into `allow`."""


CONSUMERS: Mapping[str, Consumer] = {
    "logging": Consumer({"emit": Field(list), "look": Field(list)}, screens.screen_logging),
    "logrotate": Consumer(
        {
            "tree": Field(dict),
            "look": Field(str, choices=("names", "texts", "modes")),
            "rotated": Field(dict, required=False),
            "force": Field(bool, required=False),
            "runs": Field(int, required=False, minimum=0),
        },
        screens.screen_logrotate,
        ("/usr/sbin/logrotate",),
        "logrotate",
        ("scripts", "commands", "mail", "include"),
    ),
    "nginx": Consumer(
        {
            "requests": Field(list),
            "www": Field(dict, required=False),
            "backends": Field(dict, required=False),
            "forwarded": Field(list, required=False),
            "bodies": Field(bool, required=False),
            "look": Field(list, required=False),
        },
        screens.screen_nginx,
        ("/usr/sbin/nginx",),
        "nginx-light",
    ),
    "sshd": Consumer(
        {
            **{name: Field(str) for name in ("user", "host", "addr")},
            "laddr": Field(str, required=False),
            "lport": Field(int, required=False, minimum=0),
            "look": Field(list),
        },
        screens.screen_sshd,
        ("/usr/sbin/sshd", "/usr/bin/ssh-keygen"),
        "openssh-server",
        ("include",),
    ),
    "systemd": Consumer(
        {
            "unit": Field(str),
            "look": Field(list, required=False),
            "security": Field(list, required=False),
            "elapses": Field(dict, required=False),
        },
        screens.screen_systemd,
        ("/usr/bin/systemd-analyze",),
        "systemd",
    ),
}
