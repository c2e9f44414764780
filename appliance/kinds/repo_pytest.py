"""Runs one test by pytest, in the process that was forked for it; for suites with fixtures and parameters.

Only where the task's image holds pytest, and it is that one. No configuration, no conftest and no plugin is read,
whoever wrote it: what a test needs stands in its module. All cases of a parametrised test count as one test.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest  # type: ignore[import-not-found, unused-ignore]

PLACE = "/work/case.py"
OPTIONS = (
    *("-c", "/dev/null", "--rootdir", "/work", "--noconftest", "--import-mode=importlib", "-q"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler"),
)


class Watcher:
    """A plugin that hands pytest the module of a request and keeps what became of its tests."""

    def __init__(self, module: ModuleType, describe: Callable[[BaseException], str]) -> None:
        self._module, self._describe = module, describe
        self.words: list[str] = []
        self.trouble = ""

    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
        module = self._module

        class Given(pytest.Module):  # type: ignore[misc, unused-ignore]
            """Not read from a file."""

            def _getobj(self) -> ModuleType:
                return module

        return Given.from_parent(parent, path=module_path)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.words.append("failed" if report.when == "call" else "error")
        elif report.skipped or hasattr(report, "wasxfail"):
            self.words.append("skipped")
        elif report.when == "call":
            self.words.append("passed")

    def pytest_exception_interact(self, call: Any) -> None:
        self.trouble = self.trouble or self._describe(call.excinfo.value)

    @property
    def word(self) -> str:
        """The worst of all cases; a test without a case has not been run."""
        order = ("error", "failed", "skipped", "passed")
        return next((word for word in order if word in self.words), "missing")


def run(
    request: dict[str, Any], module: ModuleType, describe: Callable[[BaseException], str]
) -> dict[str, str]:
    """Run the test of a request, which is in `module`."""
    with open(PLACE, "w"):  # noqa: PTH123 - it only has to be there
        pass
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    watcher = Watcher(module, describe)
    place = "::".join(filter(None, (PLACE, request["owner"], request["name"])))
    pytest.main([*OPTIONS, place], plugins=[watcher])
    return {"outcome": watcher.word, "text": watcher.trouble}


def rehearse() -> None:
    """Run a test of ours, before there is anybody else's: what pytest loads when it is used is then loaded."""
    module = ModuleType("rehearsal")
    module.__dict__["test_nothing"] = lambda: None
    run({"owner": "", "name": "test_nothing"}, module, repr)
