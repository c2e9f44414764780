"""Putting jails through the catalogue: each probe is run, its ending and what it left are judged.

A verdict is `pass` when the ending is the expected one and nothing was left, `skip` when this host cannot show
either, `fail` otherwise. Lateness is counted, not judged, up to a bound that no busy machine explains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Literal

from appliance.clean import clean_line
from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.sandbox.attacks.catalogue import skip_reason
from appliance.sandbox.attacks.invariants import MOUNTED, Baseline, Canaries, result_breaches
from appliance.sandbox.attacks.metronome import Metronome
from appliance.sandbox.client import JailResult
from appliance.sandbox.ending import JailStatus
from appliance.sandbox.policy import Policy
from appliance.sandbox.probes import Probe, Runs, Talk, run_probe

GRACE_S = 0.5
"""How far behind its wall limit a verdict may come before it counts as late."""
HANG_S = 5.0
"""And before it is a failure."""
UNTOLD_WITHOUT_CGROUP = frozenset(
    {JailStatus.exit, JailStatus.signal, JailStatus.timeout_wall, JailStatus.timeout_cpu, JailStatus.ok}
)
"""How an attack may end where only a cgroup could have told it from another ending."""
BY_CGROUP = (JailStatus.memory, JailStatus.processes, JailStatus.timeout_cpu)


@dataclass(frozen=True, slots=True)
class Finding:
    """How one probe went; all text is fit for a terminal."""

    id: str
    name: str
    expected: str
    seen: str
    """A status, or nothing when it was skipped."""
    verdict: Literal["pass", "fail", "skip"]
    reason: str
    invariants: tuple[str, ...] = ()
    """What it changed that no jail may change."""
    took_s: float = 0.0
    late_s: tuple[float, ...] = ()
    """Its runs whose verdict came late: seconds behind the wall limit."""
    worst_gap_ms: float | None = None
    """Longest time the sibling was kept from its beat."""


class Timed:
    """Runs jails and notes which verdicts came late."""

    def __init__(self, jails: Runs) -> None:
        self._jails = jails
        self.late: list[float] = []

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        started = time.monotonic()
        result = self._jails.run(command, policy, files=files, stdin=stdin)
        behind = time.monotonic() - started - policy.limits.wall_s
        if behind > GRACE_S:
            self.late.append(round(behind, 3))
        return result

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Talk:
        return self._jails.open(command, policy, files=files)


@dataclass
class Examination:
    """One client's way through some probes. Iterate `run` to its end, then read the rest."""

    jails: Runs
    paths: Paths | None = None
    rest: Callable[[], None] = lambda: None
    """Called before each look for traces: a client that keeps jails ready puts them away."""
    limits: str = "full"
    """Of this host's jails."""
    worst_gap_ms: float = 0.0
    """While greedy probes ran."""
    beats: int = 0
    late: int = 0
    invariants: list[str] = field(default_factory=list)
    """What had changed after all of it, which no single probe shows."""

    def run(self, probes: Sequence[Probe]) -> Iterator[Finding]:
        """Try each probe; a sibling jail runs beside them."""
        with ExitStack() as stack:
            canaries = stack.enter_context(Canaries())
            # The first jail starts a helper that stays.
            self.limits = self.jails.run(("true",), Policy()).limits
            self.rest()
            first = Baseline.take()
            with Metronome(self.jails) as sibling:
                for probe in probes:
                    found = self.examine(probe, canaries, sibling)
                    self.late += len(found.late_s)
                    yield found
                self.beats = sibling.beats
                if not sibling.alive:
                    self.invariants.append("the sibling jail was ended by somebody")
            self.rest()
            # Mounts were judged probe by probe.
            first = replace(first, mounts=Baseline.take().mounts)
            self.invariants += first.breaches(canaries)

    def examine(self, probe: Probe, canaries: Canaries, sibling: Metronome | None = None) -> Finding:
        """Try one probe. Others may mount while it runs; only what happens twice is its doing."""
        found = self._try(probe, canaries, sibling)
        if found.invariants and all(text.startswith(MOUNTED) for text in found.invariants):
            return self._try(probe, canaries, sibling)
        return found

    def _try(self, probe: Probe, canaries: Canaries, sibling: Metronome | None) -> Finding:
        if why := skip_reason(probe, self.paths):
            return Finding(probe.id, probe.name, probe.expected, "", "skip", why)
        self.rest()
        before, timed, started = Baseline.take(), Timed(self.jails), time.monotonic()
        if sibling:
            sibling.take_worst_s()
        try:
            result = run_probe(timed, probe, canaries.variables, self.paths)
        except (SandboxError, OSError) as error:
            why = clean_line(f"{type(error).__name__}: {error}", 300)
            return Finding(probe.id, probe.name, probe.expected, "", "fail", why)
        took, gap_ms = (
            time.monotonic() - started,
            round(sibling.take_worst_s() * 1000, 1) if sibling else None,
        )
        if gap_ms and probe.expected not in (JailStatus.ok, JailStatus.exit, JailStatus.denied):
            self.worst_gap_ms = max(self.worst_gap_ms, gap_ms)
        self.rest()
        breaches = before.breaches(canaries) + result_breaches(result, probe.limits)
        breaches += [f"a verdict came {late:.1f} s after its limit" for late in timed.late if late > HANG_S]
        verdict, reason = judge(probe, result, breaches)
        return Finding(
            id=probe.id,
            name=probe.name,
            expected=probe.expected,
            seen=result.status,
            verdict=verdict,
            reason=reason,
            invariants=tuple(breaches),
            took_s=round(took, 3),
            late_s=tuple(timed.late),
            worst_gap_ms=gap_ms,
        )


def judge(
    probe: Probe, result: JailResult, breaches: Sequence[str]
) -> tuple[Literal["pass", "fail", "skip"], str]:
    """The verdict and its reason."""
    said = clean_line((result.stdout[:300] or result.stderr[-300:]).decode("utf-8", "backslashreplace"), 300)
    if result.status is not probe.expected:
        if (
            result.limits == "reduced"
            and probe.expected in BY_CGROUP
            and result.status in UNTOLD_WITHOUT_CGROUP
        ):
            untold = f"{probe.expected} cannot be told without a cgroup"
            return ("fail", "; ".join(breaches)) if breaches else ("skip", untold)
        shown = " ".join(part for part in (clean_line(result.detail, 200), said) if part)
        return "fail", f"ended with {result.status}, not {probe.expected}: {shown}".removesuffix(": ")
    return ("fail", "; ".join(breaches)) if breaches else ("pass", "")
