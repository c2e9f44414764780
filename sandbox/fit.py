"""Whether this host can hold what a policy asks for; what it cannot is refused by name, never left out."""

from __future__ import annotations

from appliance.errors import SandboxError, UsageError
from appliance.sandbox.cgroups import Nursery
from appliance.sandbox.policy import REDUCED_MEMORY_MB, Limits, Policy, check_processors

_BETTER = "run as root or in a delegated cgroup (docs/cgroups.md; appliance doctor cgroup)"


def check_policy(policy: Policy, nursery: Nursery | None, why: str) -> None:
    """SandboxError for what cannot be had here, `why` not; UsageError for what no host like this could give."""
    limits = policy.limits
    if policy.strict and (nursery is None or not nursery.swap_limited):
        raise SandboxError(
            f"limits are reduced here and the policy is strict: {why or 'swap cannot be limited'}",
            remedy=f"{_BETTER}, or without strict",
        )
    check_processors(limits.cpuset, "limit cpuset")
    if nursery is None:
        for name in ("cpus", "cpuset"):
            if getattr(limits, name):
                raise SandboxError(
                    f"cannot set limit {name}: {why}", remedy=f"{_BETTER}, or leave the limit out"
                )
    check_limits(limits, enforced=nursery is not None)


def check_limits(limits: Limits, *, enforced: bool) -> None:
    """UsageError for limits under which a command could not even be started. `enforced`: a cgroup holds them."""
    if not enforced and limits.memory_mb < REDUCED_MEMORY_MB:
        raise UsageError(
            f"limit memory_mb = {limits.memory_mb} is below {REDUCED_MEMORY_MB}, the least where limits are "
            "reduced: without a cgroup memory is limited by the address space of each process",
            remedy=f"give at least {REDUCED_MEMORY_MB}, or {_BETTER}",
        )
