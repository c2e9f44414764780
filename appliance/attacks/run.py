"""Runs attacks and honest submissions through the judge, and writes them as fixtures."""

from __future__ import annotations

import base64
import importlib
import json
import pkgutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import attacks
from appliance.attacks import Attack, Honest
from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.judge import Judge, is_plain
from appliance.kinds import kind_names
from appliance.manifest import LinkFound, walk
from appliance.nouns import Task, Verdict
from appliance.tables import Field, check_table, nearest
from appliance.tasks import find_task, load_task

PACK = Path(__file__).with_name("pack")
_NOT_KEPT = {".git", "__pycache__"}
"""Folders that a repository of fixtures does not hold, or whoever reads a submission leaves out."""
_NOT_KINDS = {"run"}
_EXPECT = {
    "task": Field(str),
    "status": Field(str),
    "reward": Field(float, required=False),
    "outcome": Field(str, required=False),
    "why": Field(str, required=False),
}
ODD = "submission.json"
"""Holds a submission some of whose names no folder can: name to content in base 64."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One submission and its verdict."""

    task: str
    kind: str
    what: Attack | Honest
    verdict: Verdict

    @property
    def right(self) -> bool:
        """An attack earned nothing and was called by a right name; an honest one got its own status."""
        if isinstance(self.what, Attack):
            return self.verdict.status in self.what.required and self.verdict.reward == 0.0
        return self.verdict.status == self.what.status

    def to_json(self) -> dict[str, Any]:
        seen = {"kind": self.kind, "seen": self.verdict.status, "reward": self.verdict.reward}
        if isinstance(self.what, Attack):
            required = list(self.what.required)
            return {
                "id": self.what.id,
                "name": self.what.name,
                **seen,
                "required": required,
                "caught": self.right,
            }
        status = {"status": self.verdict.status, "wanted": self.what.status, "ok": self.right}
        return {"task": self.task, "variant": self.what.variant, **seen, **status}


def kinds() -> tuple[str, ...]:
    """The kinds that have attacks."""
    names = (module.name for module in pkgutil.iter_modules(attacks.__path__))
    return tuple(sorted(name for name in names if name not in _NOT_KINDS and "_" not in name))


def shipped(kind: str) -> Iterator[tuple[Task, Attack | Honest]]:
    """The attacks on a kind and the honest submissions beside them, each with its task. NotFoundError."""
    if kind not in kinds():
        raise NotFoundError(f"no attacks on a kind {kind!r}", remedy=nearest(kind, kinds()))
    module = importlib.import_module(f"appliance.attacks.{kind}")
    more = getattr(module, "MORE", {})
    for name, makers in {module.TASK: (module.attacks, module.honest), **more}.items():
        task = load_task(PACK / name)
        for made in makers:
            for what in made(task):
                yield task, what


def judged(
    judge: Judge, submissions: Sequence[tuple[Task, Attack | Honest]], threads: int, seed: int = 0
) -> list[Seen]:
    """The verdict on each submission, in their order."""

    def one(pair: tuple[Task, Attack | Honest]) -> Seen:
        task, what = pair
        return Seen(task.key, task.kind, what, judge.judge(task, what.files, seed=seed))

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, submissions))


def write(folder: Path) -> int:
    """Write every shipped submission as `KIND/TASK/NAME/` with `expect.toml` and `submission/`; return how many."""
    count = 0
    for kind in kinds():
        for task, what in shipped(kind):
            place = folder / kind / Path(task.folder).name / folder_name(what)
            if place.exists():
                raise UsageError(f"{place} is there already", remedy="give a folder that is empty")
            place.mkdir(parents=True)
            (place / "expect.toml").write_text(_expectation(task, what))
            write_files(place, what.files)
            count += 1
    return count


def write_files(place: Path, files: Mapping[str, bytes]) -> None:
    """A submission as a folder, or as JSON where no folder can hold its names."""
    if not all(is_plain(name) and not _NOT_KEPT & set(name.split("/")) for name in files):
        table = {name: base64.b64encode(body).decode() for name, body in sorted(files.items())}
        (place / ODD).write_text(json.dumps(table, indent=1) + "\n")
        return
    for name, body in files.items():
        path = place / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def read_files(place: Path) -> Mapping[str, bytes]:
    """What `write_files` wrote, whole: how much of it is too much is for the judge to say."""
    if (place / ODD).is_file():
        table = json.loads((place / ODD).read_bytes())
        return {name: base64.b64decode(body) for name, body in table.items()}
    submission = place / "submission"
    if not submission.is_dir():
        return {}
    try:
        return {path.relative_to(submission).as_posix(): path.read_bytes() for path in walk(submission)}
    except LinkFound as found:
        raise TaskError(f"{found.path} is not a regular file", remedy="remove it from the fixture") from None


def folder_name(what: Attack | Honest) -> str:
    """Where a fixture lies, below its kind."""
    return f"{what.id}-{what.name}" if isinstance(what, Attack) else f"honest-{what.variant}"


def _expectation(task: Task, what: Attack | Honest) -> str:
    status = "|".join(what.required) if isinstance(what, Attack) else what.status
    reward = "" if isinstance(what, Honest) else "reward = 0.0\n"
    return f'task = "{task.key}"\nstatus = "{status}"\n{reward}'


def read(folder: Path, packs: Sequence[Path]) -> Iterator[tuple[Task, Attack | Honest]]:
    """The fixtures below a folder, as `write` and a confirmed hack leave them. TaskError names a wrong file."""
    found = sorted(folder.rglob("expect.toml"))
    if not found:
        raise NotFoundError(f"{folder} holds no expect.toml", remedy="give a folder of fixtures")
    for path in found:
        expected = _expected(path)
        task = find_task(expected["task"], packs)
        statuses = tuple(expected["status"].split("|"))
        files = read_files(path.parent)
        name = path.parent.relative_to(folder).as_posix()
        if expected.get("reward", 1.0) == 0.0 and not name.startswith("honest"):
            yield task, Attack(name, "", files, statuses)
        else:
            yield task, Honest(name, files, statuses[0])


def _expected(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: {error}", remedy="correct the TOML") from None
    check_table(str(path), table, _EXPECT, TaskError)
    return table


def uncovered() -> tuple[str, ...]:
    """Kinds that have no attacks."""
    return tuple(name for name in kind_names() if name not in kinds())
