"""What can go wrong with a model file or a process, and that it ends as one clear error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import numpy as np
import pytest

from appliance.engine.client import Engine, EngineSettings, child_environment
from appliance.errors import EngineError, ModelError
from appliance.learn.tiny import BOS, write_tiny_model
from appliance.nouns import Sampling


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_tiny_model(tmp_path / "tiny.gguf", digit_bias=7.0)
    return tmp_path / "tiny.gguf"


def open_engine(model: Path, **settings: object) -> Engine:
    fields: dict[str, object] = {"slots": 2, "threads": 1, **settings}
    return Engine(EngineSettings(model=str(model), **fields), model.parent / "engine.log")  # type: ignore[arg-type]


def run_module(name: str, *arguments: object) -> tuple[int, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", f"appliance.engine.{name}", *map(str, arguments)],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_death_of_the_process_fails_every_pending_call_and_restart_works(model: Path) -> None:
    prompt, sampling = (BOS, *b"n ="), Sampling(1.0, 10)
    with open_engine(model, slots=4) as engine:
        before = engine.generate(prompt, sampling, seed=1)
        with ThreadPoolExecutor(6) as pool:
            pending = [pool.submit(engine.generate, prompt, Sampling(0, 1200), seed=i) for i in range(6)]
            while engine.stats()["live"] < 4:
                pass
            os.kill(engine.pid, signal.SIGKILL)
            for future in pending:
                with pytest.raises(EngineError, match="ended by SIGKILL"):
                    future.result()
        with pytest.raises(EngineError, match="restart"):
            engine.tokenize("x", add_bos=False)
        engine.restart()
        after = engine.generate(prompt, sampling, seed=1)
        assert (after.ids, after.logprobs) == (before.ids, before.logprobs)


def test_a_closed_engine_refuses_and_leaves_no_process(model: Path) -> None:
    engine = open_engine(model)
    engine.close()
    engine.close()
    assert not is_alive(engine.pid)
    with pytest.raises(EngineError, match="has ended"):
        engine.generate((BOS,), Sampling(), seed=0)


def test_the_process_ends_with_its_parent(model: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from appliance.engine.client import Engine, EngineSettings\n"
        "engine = Engine(EngineSettings(sys.argv[1], slots=2, threads=1), Path(sys.argv[2]))\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(model), str(model.parent / "engine.log")],
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < deadline, "the engine outlived its parent"
        time.sleep(0.02)


def test_ctrl_c_in_the_group_of_the_engine_does_not_end_it(model: Path) -> None:
    with open_engine(model) as engine:
        os.kill(engine.pid, signal.SIGINT)
        assert engine.tokenize("a", add_bos=False) == (97,)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.gguf: there is no such model file") as caught:
        open_engine(tmp_path / "absent.gguf")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 something else", "not a GGUF file"),
        (b"GGUF\x01\x00\x00\x00" + b"\0" * 64, "GGUF version 1"),
        (b"GGUF\x03\x00\x00\x00", "llama.cpp cannot load"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, "llama.cpp c"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(ModelError, match=complaint) as caught:
        open_engine(tmp_path / "bad.gguf")
    assert "bad.gguf" in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused_wherever_it_is_cut(model: Path, share: float) -> None:
    whole = model.read_bytes()
    cut = model.with_name("cut.gguf")
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError, match=r"cut\.gguf") as caught:
        open_engine(cut)
    assert caught.value.remedy


def test_an_unknown_architecture_is_refused_by_name(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "perceptron")
    writer.add_tensor("w", np.zeros((2, 2), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match=r"odd\.gguf.*perceptron"):
        open_engine(tmp_path / "odd.gguf")


def test_settings_out_of_range_are_refused(model: Path) -> None:
    with pytest.raises(EngineError, match="1000 slots"):
        open_engine(model, slots=1000)


def test_the_probe_decodes_a_full_batch_and_prints_one_line(model: Path) -> None:
    code, found = run_module("probe", model)
    assert (code, found["ok"], found["tokens"], found["architecture"]) == (0, True, 512, "llama")
    code, found = run_module("probe", model.with_name("absent.gguf"))
    assert (code, found["ok"]) == (1, False)
    assert found["remedy"]


def test_requantizing_keeps_the_values(model: Path) -> None:
    half, full = model.with_name("half.gguf"), model.with_name("full.gguf")
    code, found = run_module("requantize", model, half, "F16")
    assert (code, found["ok"], found["bytes"]) == (0, True, half.stat().st_size)
    assert run_module("requantize", half, full)[0] == 0
    assert {path.name for path in model.parent.iterdir()} == {"tiny.gguf", "half.gguf", "full.gguf"}
    read = {
        path: {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
        for path in (model, half, full)
    }
    assert len(read[full]) == 21
    for name, wide in read[full].items():
        original, narrow = read[model][name], read[half][name]
        assert wide.tensor_type == gguf.GGMLQuantizationType.F32
        np.testing.assert_array_equal(wide.data, narrow.data.astype(np.float32))
        np.testing.assert_allclose(wide.data, original.data, atol=2e-3)
    with open_engine(full) as engine:
        assert engine.info.file_type == 0


def test_requantizing_a_damaged_file_leaves_nothing_behind(model: Path) -> None:
    cut = model.with_name("cut.gguf")
    cut.write_bytes(model.read_bytes()[:5000])
    code, found = run_module("requantize", cut, model.with_name("out.gguf"))
    assert (code, found["ok"]) == (2, False)
    assert "cut.gguf" in str(found["error"])
    assert {path.name for path in model.parent.iterdir()} == {"tiny.gguf", "cut.gguf"}
