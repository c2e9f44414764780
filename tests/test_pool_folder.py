"""A task folder in memory is what lies on disk, and comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import TaskError
from appliance.pool import folder
from appliance.tasks import load_task, shipped_packs


def shipped() -> folder.Folder:
    return folder.read(shipped_packs()["starter"] / "clamp")


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    task = shipped()
    manifest = {**task.manifest, "mcp": {"server": "unknown to us"}, "steps": [{"name": "one"}]}
    task = replace(
        task,
        manifest=manifest,
        files={**task.files, "environment/run": b"#!/bin/sh\n"},
        executable=frozenset({"environment/run"}),
    )
    place = folder.write(tmp_path / "starter", task)
    assert folder.read(place) == task
    assert load_task(place).key == task.key


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    folder.write(tmp_path, shipped())
    with pytest.raises(TaskError, match="is there already"):
        folder.write(tmp_path, shipped())


def test_a_name_that_leaves_the_folder_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    task = shipped()
    with pytest.raises(TaskError, match="cannot be a file of a task"):
        folder.write(tmp_path, replace(task, files={**task.files, "../outside": b""}))
    assert list(tmp_path.iterdir()) == []


def test_a_link_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    place = folder.write(tmp_path, shipped())
    (place / "link").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="not a regular file"):
        folder.read(place)
    (place / "link").unlink()
    (place / "task.toml").unlink()
    with pytest.raises(TaskError, match="No such file"):
        folder.read(place)
