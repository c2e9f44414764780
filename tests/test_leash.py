"""A job's jails end when the job is not wanted any more, and their times are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.errors import SandboxError
from appliance.leash import Leash
from appliance.paths import Paths
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.policy import Limits, Policy

pytestmark = pytest.mark.jail
SLEEP = ["sh", "-c", "sleep 600"]
POLICY = Policy(Limits(wall_s=60, cpu_s=10))


@pytest.fixture(params=[False, True], ids=["cold", "warm"])
def jails(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Jails]:
    with Jails(Paths(tmp_path, tmp_path), warm=request.param) as opened:
        yield opened


def test_a_cut_leash_ends_the_jails_that_are_open(jails: Jails) -> None:
    leash = Leash().around(jails)
    with leash.open(SLEEP, POLICY) as first, leash.open(SLEEP, POLICY) as second:
        threading.Timer(0.1, leash.cut).start()
        assert first.receive(10, 50) is None, "the peer is gone, long before its limit"
        assert second.receive(10, 50) is None
        assert first.finish().status is not JailStatus.ok
    assert leash.is_cut
    assert jails.live == 0
    assert leash.start_s > 0
    assert leash.teardown_s > 0


def test_a_jail_that_is_opened_after_the_cut_ends_too(jails: Jails) -> None:
    leash = Leash().around(jails)
    leash.cut()
    with leash.open(SLEEP, POLICY) as late:
        assert late.receive(10, 50) is None
    assert jails.live == 0


def test_a_cut_leash_runs_no_further_command(jails: Jails) -> None:
    leash = Leash().around(jails)
    assert leash.run(["cat"], POLICY, stdin=b"in").stdout == b"in"
    leash.cut()
    with pytest.raises(SandboxError):
        leash.run(["true"], POLICY)
    with pytest.raises(SandboxError):
        leash.session(POLICY)
    jails.rest()
    assert jails.live == 0


def test_a_cut_ends_the_command_of_a_session_and_lets_no_other_begin(jails: Jails) -> None:
    leash = Leash().around(jails)
    with leash.session(POLICY, {"name": b"text"}) as seat:
        assert seat.run(["cat", "name"]).stdout == b"text"
        threading.Timer(0.1, leash.cut).start()
        assert seat.run(SLEEP).status is JailStatus.signal
        with pytest.raises(SandboxError):
            seat.run(["true"])
        assert [entry.path for entry in seat.snapshot().entries] == ["name"]
    assert jails.live == 0
    assert leash.teardown_s > 0
