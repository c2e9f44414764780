"""SWE-smith: SWE-bench's fields, but `patch` puts the fault in, and the tests that find it are in the repository.

The gold solution is the patch turned round. A checkout under `--repos` may be the sound one or the one of the branch
with the fault: whichever way the patch fits. See `swe_bench` for where checkouts are looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.importers import patches
from appliance.importers.adapt import Unfit
from appliance.importers.row import Imported, Options, Row
from appliance.importers.source import tasks
from appliance.importers.swe_bench import Parts, changed, checkout, lists_of, paths_of, repo_task
from appliance.pool.folder import Folder

NAME, SUMMARY = "SWE-smith", "Rows whose patch puts a fault in; checkouts from --repos."


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of a SWE-smith file."""
    yield from tasks(source, options, "instance_id", task_of)


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when the checkout is not there or the patch fits neither way."""
    changes, lists = patches.read(row.text("patch")), lists_of(row)
    given = checkout(row, options)
    back = [change.reversed() for change in reversed(changes)]
    try:
        faulty, sound = patches.apply(given, changes), given
    except Unfit:
        faulty, sound = given, patches.apply(given, back)
    homes = {path for test in lists["FAIL_TO_PASS"] for path in paths_of(test) if path in sound}
    parts = Parts(faulty, changed(faulty, sound), {path: sound[path] for path in homes})
    return repo_task("swe-smith", row, options, parts, lists)
