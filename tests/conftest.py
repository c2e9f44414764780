"""What tests share: the tiny model with digits, and skipping where the host forbids namespaces."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# A shell starts what it sends to the background with interrupts ignored, and so would be every process that the tests
# start, some of them to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that writes digits about equally often."""
    from appliance.learn.tiny import write_tiny_model

    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_tiny_model(path, seed=0, digit_bias=6.0)
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test marked `jail` runs real nsjail; without namespaces it is skipped with the host's own reason."""
    from appliance.sandbox.host import fatal_problem

    problem = fatal_problem()
    if problem is None:
        return
    skip = pytest.mark.skip(reason=f"no jails here: {problem.text}")
    for item in items:
        if "jail" in item.keywords:
            item.add_marker(skip)
