"""The command line as a whole: signals that stop a run, output that cannot be written, what a verdict shows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.cli import judge, train
from appliance.nouns import Signal
from appliance.sandbox.image import _reason


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_for_a_clean_stop_and_a_second_interrupts(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with train._interruptible() as stop:
            os.kill(os.getpid(), number)
            assert stop()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_what_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with train._interruptible() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_full_output_is_one_line_and_no_traceback() -> None:
    command = [sys.executable, "-m", "appliance", "task", "show", "starter/mean"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "appliance: No space left on device\n"


def test_a_share_of_cases_that_were_not_asked_is_not_shown_as_measured() -> None:
    signal_ = Signal(0.0, 0.0, 1.0, "core")
    assert "not run" in judge._signal_line("hidden_share", signal_, {"intake", "quick"})
    assert "0.0%" in judge._signal_line("hidden_share", signal_, {"intake", "quick", "hidden"})


def test_a_tree_that_cannot_be_copied_is_told_in_one_line() -> None:
    many = [(f"/a/{number}", f"/b/{number}", "No space left on device") for number in range(5000)]
    assert _reason(shutil.Error(many)) == "No space left on device"
    assert _reason(OSError(28, "No space left on device")) == "[Errno 28] No space left on device"
