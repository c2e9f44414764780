"""The learner process from outside: answers, refusals, threads, and what its death looks like."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from appliance import frames
from appliance.errors import LearnerError, ModelError, NotFoundError
from appliance.learn import child
from appliance.learn.base import Base, prepare
from appliance.learn.client import Learner, LearnerSettings, LoraSettings
from appliance.learn.tiny import write_tiny_model
from appliance.nouns import Sample

BATCH = [
    Sample("a", (256, 120), (49, 10), (-5.0, -5.0), 1.0, "base"),
    Sample("b", (256, 120), (50,), (-5.0,), -1.0, "base"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    folder = tmp_path_factory.mktemp("client")
    write_tiny_model(folder / "tiny.gguf")
    return prepare(folder / "tiny.gguf", folder / "bases")


@pytest.fixture(scope="module")
def settings(base: Base) -> LearnerSettings:
    return LearnerSettings(
        base=str(base.folder), lora=LoraSettings(4, 8.0), learning_rate=1e-4, device="cpu", threads=1
    )


@pytest.fixture(scope="module")
def learner(settings: LearnerSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learner]:
    with Learner(settings, tmp_path_factory.mktemp("log") / "learner.log") as found:
        yield found


def test_info_says_what_was_opened(learner: Learner, base: Base) -> None:
    info = learner.info
    assert (info.architecture, info.device, info.precision, info.threads) == ("llama", "cpu", "exact", 1)
    assert (info.vocabulary, info.base_fingerprint) == (258, base.fingerprint)
    per_layer = 3 * (128 + 256) + 2 * (128 + 128) + 2 * (128 + 64)
    assert info.trainable == 4 * 2 * per_layer


def test_a_step_and_a_score(learner: Learner) -> None:
    scored = learner.score(BATCH)
    assert [len(row) for row in scored] == [2, 1]
    batch = [dataclasses.replace(one, logprobs=row) for one, row in zip(BATCH, scored, strict=True)]
    metrics = learner.step(batch, 8)
    assert (metrics.updated, metrics.tokens) == (True, 3)
    assert metrics.max_abs_logratio < 1e-5
    assert learner.score(batch) != scored


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_told_as_one_and_the_learner_goes_on(
    settings: LearnerSettings, tmp_path: Path
) -> None:
    """Also when the log lies on it, so that not even the traceback can be written."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=True)
    try:
        with Learner(settings, tmp_path / "learner.log") as learner:
            (tmp_path / "filler").write_bytes(b"x" * (shutil.disk_usage(tmp_path).free - 4096))
            with pytest.raises(LearnerError) as caught:
                learner.save(tmp_path / "checkpoint")
            assert "free disk space" in caught.value.remedy
            assert len(learner.score(BATCH)) == 2
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_threads_are_answered_one_by_one(learner: Learner) -> None:
    wanted = [learner.score([one]) for one in BATCH]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: learner.score([BATCH[i % 2]]), range(24)))
    assert found == [wanted[i % 2] for i in range(24)]


def test_files_are_written_where_asked(learner: Learner, tmp_path: Path) -> None:
    learner.export_adapter(tmp_path / "a.gguf", tmp_path / "peft", "v3")
    learner.save(tmp_path / "state")
    learner.load(tmp_path / "state")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "a.gguf",
        "adapter.safetensors",
        "adapter_config.json",
        "adapter_model.safetensors",
        "optimiser.safetensors",
        "state.json",
    ]


def test_a_refusal_keeps_its_kind_and_the_process(learner: Learner, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no complete learner state"):
        learner.load(tmp_path / "absent")
    with pytest.raises(LearnerError, match="outside the vocabulary"):
        learner.step([dataclasses.replace(BATCH[0], completion_ids=(1, 999))], 8)
    with pytest.raises(LearnerError, match="planned_tokens is 0"):
        learner.step(BATCH, 0)
    with pytest.raises(LearnerError, match="Error"):
        learner.export_adapter(tmp_path / "no" / "folder" / "a.gguf", None, "v")
    assert len(learner.score(BATCH)) == 2


def test_a_folder_that_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a prepared base") as caught:
        Learner(LearnerSettings(base=str(tmp_path)), tmp_path / "learner.log")
    assert caught.value.remedy


def test_death_is_a_learner_error_for_every_caller(settings: LearnerSettings, tmp_path: Path) -> None:
    """Killed while one call is pending: that call, and every later one, says how the process ended."""
    learner = Learner(settings, tmp_path / "learner.log")
    os.kill(learner.pid, signal.SIGSTOP)
    caught: list[LearnerError] = []

    def pending() -> None:
        with pytest.raises(LearnerError) as error:
            learner.score(BATCH)
        caught.append(error.value)

    thread = threading.Thread(target=pending)
    thread.start()
    time.sleep(0.2)
    os.kill(learner.pid, signal.SIGKILL)
    thread.join(20)
    assert "ended with signal 9" in caught[0].message
    assert "checkpoint" in caught[0].remedy
    with pytest.raises(LearnerError, match="signal 9"):
        learner.step(BATCH, 8)
    learner.close()


def test_closing_ends_a_stuck_process(settings: LearnerSettings, tmp_path: Path) -> None:
    learner = Learner(settings, tmp_path / "learner.log")
    os.kill(learner.pid, signal.SIGSTOP)
    learner.close()
    with pytest.raises(ProcessLookupError):
        os.kill(learner.pid, 0)
    learner.close()
    with pytest.raises(LearnerError):
        learner.score(BATCH)


def test_ctrl_c_in_the_terminal_does_not_reach_it(learner: Learner) -> None:
    assert os.getsid(learner.pid) != os.getsid(0)


def test_the_process_ends_when_its_parent_does(settings: LearnerSettings, tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from appliance.learn.client import Learner, LearnerSettings\n"
        f"learner = Learner(LearnerSettings(base={settings.base!r}, threads=1), Path({str(tmp_path / 'l.log')!r}))\n"
        "print(learner.pid, flush=True)\nos._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=child.environment(), capture_output=True, check=True
    )
    pid = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the learner outlived its parent")


def test_only_frames_reach_standard_output(settings: LearnerSettings) -> None:
    """A noisy library must not break the framing: the server gives the real standard output away."""
    noisy = "import os, appliance.learn.worker\nfrom appliance.learn import server\nold = server.Worker\n"
    noisy += (
        "def loud(settings):\n    os.write(1, b'noise')\n    print('more noise')\n    return old(settings)\n"
    )
    noisy += "server.Worker = loud\nserver.main()\n"
    request = frames.encode({"op": "open", "settings": settings.to_json()})
    done = subprocess.run(
        [sys.executable, "-c", noisy], input=request, env=child.environment(), capture_output=True, check=True
    )
    length = int.from_bytes(done.stdout[:4], "big")
    assert len(done.stdout) == 4 + length
    assert frames.decode(done.stdout[4:])["ok"] is True
    assert b"noise" in done.stderr
