"""The command line as a whole: signals that stop a run, output that cannot be written, what a verdict shows."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.cli import judge, train
from appliance.daemon import lock
from appliance.errors import StoreError
from appliance.journal import Journal
from appliance.nouns import Signal
from appliance.paths import from_environment
from appliance.sandbox.image import _reason
from appliance.store import Store


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_for_a_clean_stop_and_a_second_interrupts(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with train.interruptible() as stop:
            os.kill(os.getpid(), number)
            assert stop()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_what_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with train.interruptible() as stop:
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


def test_a_task_cannot_steer_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(Path(__file__).parent / "data" / "pack_tiny" / "digit_seven", folder)
    (folder / "instruction.md").write_text("hi \033[31mred\033]0;title\007")
    command = [sys.executable, "-m", "appliance", "task", "show", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "red" in done.stdout
    assert "\033" not in done.stdout and "\007" not in done.stdout


def test_a_listener_whose_pipe_is_gone_does_not_end_a_run(tmp_path: Path) -> None:
    def gone(kind: str, data: Mapping[str, object]) -> None:
        raise BrokenPipeError

    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        Journal(store, "r", tmp_path, time.time, (gone,)).event("stage", step=1, stage="sample")
        assert [event.kind for event in store.events("r")] == ["stage"]


def test_asking_whether_a_run_is_going_does_not_stop_one_from_starting(tmp_path: Path) -> None:
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path)})
    assert not lock.is_held(paths)
    with lock.single_run(paths):
        assert lock.is_held(paths)
        with pytest.raises(StoreError, match="another run"), lock.single_run(paths):
            pass
    with (paths.data / "run.lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        threading.Timer(0.1, lambda: fcntl.flock(asking, fcntl.LOCK_UN)).start()
        with lock.single_run(paths):
            assert lock.is_held(paths)
    assert not lock.is_held(paths)


def test_a_relative_home_does_not_depend_on_where_a_child_runs() -> None:
    paths = from_environment({"APPLIANCE_HOME": "some/home"})
    assert paths.data.is_absolute() and paths.cache.is_absolute()


def test_a_tree_that_cannot_be_copied_is_told_in_one_line() -> None:
    many = [(f"/a/{number}", f"/b/{number}", "No space left on device") for number in range(5000)]
    assert _reason(shutil.Error(many)) == "No space left on device"
    assert _reason(OSError(28, "No space left on device")) == "[Errno 28] No space left on device"
