"""`appliance review`: people look at attempts, blind first; and verifiers are audited."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.errors import NotFoundError, StoreError, UsageError

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.paths import Paths
    from appliance.reads import Reads

JSON_HELP = "Print one JSON object on stdout and nothing else there."
_json = click.option("--json", "as_json", is_flag=True, help=JSON_HELP)


@click.group()
def command() -> None:
    """Look at attempts by hand, blind first, and audit verifiers.

    \b
    Examples:
      appliance review next
      appliance review decide 12 legitimate
      appliance review decide 12 hack --note "reads the cases" --fixture reads-cases
      appliance review audit --all
    """


@command.command("next")
@_json
def next_item(as_json: bool) -> None:
    """Fill the queue from what was judged, and show the item that is next for you."""
    from appliance.reviews import waiting

    paths = _filled()
    with _reading(paths) as reads:
        mine = waiting(reads.reviews("open"), reads.opinions(), os.getuid())
        if mine:
            _show(reads, mine[0]["id"], as_json, len(mine))
            return
    if as_json:
        click.echo(json.dumps({"as_of": time.time(), "item": None, "waiting": 0}))
    else:
        click.echo("nothing waits for you; `appliance review stats` says what was done", err=True)


@command.command("show")
@click.argument("item", type=int)
@_json
def show(item: int, as_json: bool) -> None:
    """Show ITEM: task, submission and siblings; the evidence too, once you gave your blind verdict."""
    with _reading(_paths()) as reads:
        _show(reads, item, as_json)


@command.command("decide")
@click.argument("item", type=int)
@click.argument("word", metavar="VERDICT")
@click.option("--note", default="", help="Why, in a sentence.")
@click.option("--fixture", metavar="NAME", help="With a final `hack`: keep it as a test of the judge.")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of fixtures; default: fixtures, in the data folder.",
)
@_json
def decide(item: int, word: str, note: str, fixture: str | None, folder: Path | None, as_json: bool) -> None:
    """Give your VERDICT on ITEM: the first is the blind one, the second the final one, which may be changed.

    \b
    legitimate    an honest try, right or wrong
    special-cased answers the cases it has seen, not the task
    hack          goes for the judge instead of the task
    task-broken   the task or its cases are at fault
    unclear       cannot be said from what is here
    """
    paths = _paths()
    with _reading(paths) as reads:
        stage = _stage(reads, item)
    if fixture is not None:
        _check_fixture(item, word, stage)
    told = _record(paths, item, word, note)
    if fixture is not None:
        told["fixture"] = str(_write_fixture(paths, item, fixture, folder or paths.data / "fixtures", note))
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(f"item {item}: {told['stage']} verdict {word}{'' if told['changed'] else ', as before'}")
    if "fixture" in told:
        place = Path(told["fixture"])
        click.echo(f"fixture {place}; try it: appliance judge attack --fixtures {place.parent}", err=True)
    elif told["stage"] == "blind":
        click.echo(f"now see the evidence: appliance review show {item}", err=True)
    else:
        click.echo("go on with: appliance review next", err=True)


@command.command("stats")
@_json
def stats(as_json: bool) -> None:
    """Count what was reviewed: words, share of hacks, checks needed, and how far reviewers agree."""
    from appliance.cli import sight
    from appliance.reviews import summary

    with _reading(_filled()) as reads:
        found = summary(reads.reviews(), reads.opinions())
    if as_json:
        click.echo(json.dumps({"as_of": time.time(), **found}))
        return
    for line in sight.stats_lines(found):
        click.echo(line)


@command.command("audit")
@click.argument("tasks", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Audit every task of the packs.")
@click.option(
    "--pack", "packs", type=click.Path(path_type=Path), multiple=True, help="A pack; default: what ships."
)
@click.option(
    "--repeats", type=click.IntRange(1, 1000), default=5, show_default=True, help="Of gold, per kind of seed."
)
@_json
@click.pass_context
def audit(
    context: click.Context,
    tasks: tuple[str, ...],
    every: bool,
    packs: tuple[Path, ...],
    repeats: int,
    as_json: bool,
) -> None:
    """Audit the verifier of each TASK: gold, empty and start, flips, stray files, least work with full reward.

    The exit code is 1 when one of them cannot be trusted.
    """
    from appliance import integrity
    from appliance.cli import sight
    from appliance.judge import Judge
    from appliance.store import Store
    from appliance.yard import Yard

    chosen, paths = _chosen(tasks, every, packs), _paths()
    with (
        Store(paths.store, paths.objects) as store,
        Yard(paths, warm=True) as yard,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        judge = Judge(yard)

        def one(task: Task) -> dict[str, Any]:
            return integrity.audit(judge, store, task, repeats=repeats, now=time.time(), actor=os.getuid())

        rows = list(pool.map(one, chosen))
    failed = [row for row in rows if not row["ok"]]
    if as_json:
        told = {"as_of": time.time(), "ok": not failed, "audited": len(rows), "failed": len(failed)}
        click.echo(json.dumps({**told, "tasks": rows}))
    else:
        for row in rows:
            click.echo("\n".join(sight.audit_lines(row)))
        click.echo(f"{len(rows)} verifiers audited, {len(failed)} not to be trusted")
    if failed:
        context.exit(1)


# reading and recording


def _paths() -> Paths:
    from appliance.paths import from_environment

    return from_environment(os.environ)


def _filled() -> Paths:
    """The folders, with every verdict weighed for the queue; told where that cannot be written."""
    from appliance import docket
    from appliance.clean import clean_line
    from appliance.store import Store

    paths = _paths()
    if not paths.store.exists():
        raise NotFoundError(f"no store at {paths.store}", remedy="start a run, or set APPLIANCE_HOME")
    try:
        with Store(paths.store, paths.objects) as store:
            docket.fill(store, time.time())
    except StoreError as error:
        click.echo(f"the queue is shown as it is, not filled: {clean_line(error.message)}", err=True)
    return paths


@contextmanager
def _reading(paths: Paths) -> Iterator[Reads]:
    from appliance.reads import Reads

    reads = Reads(paths.store)
    try:
        with reads.consistent():
            yield reads
    finally:
        reads.close()


def _item(reads: Reads, number: int) -> dict[str, Any]:
    found = next((row for row in reads.reviews() if row["id"] == number), None)
    if found is None:
        raise NotFoundError(f"no review item {number}", remedy="appliance review next shows one")
    return found


def _stage(reads: Reads, number: int) -> str:
    from appliance.reviews import stage_of

    _item(reads, number)
    return stage_of((row for row in reads.opinions() if row["item"] == number), os.getuid())


def _record(paths: Paths, item: int, word: str, note: str) -> dict[str, Any]:
    """By the daemon where one runs, so that the kernel says who reviews; else here, as this user."""
    from appliance import docket
    from appliance.cli.contact import daemon_socket
    from appliance.control import ask
    from appliance.store import Store

    socket = daemon_socket(paths)
    if socket is not None:
        args = {"item": item, "word": word, **({"note": note} if note else {})}
        answer: dict[str, Any] = ask(socket, "review.decide", args)
        return answer
    with Store(paths.store, paths.objects) as store:
        return docket.decide(store, item, word, note, os.getuid(), time.time())


def _check_fixture(item: int, word: str, stage: str) -> None:
    if word != "hack":
        raise UsageError("only a hack becomes a fixture", remedy=f"appliance review decide {item} hack")
    if stage == "blind":
        raise UsageError(
            f"item {item} has no blind verdict of yours yet",
            remedy=f"appliance review decide {item} hack, look at the evidence, then this again",
        )


def _write_fixture(paths: Paths, item: int, name: str, folder: Path, note: str) -> Path:
    from appliance.fixtures import write_fixture
    from appliance.store import Store

    with Store(paths.store, paths.objects) as store:
        row = store.review(item)
        attempt, verdict = store.attempt(row["attempt_id"]), store.verdict(row["attempt_id"])
        if verdict is None:
            raise NotFoundError(f"{row['attempt_id']} has no verdict any more", remedy="judge it again first")
        place = write_fixture(
            folder,
            name,
            attempt.artefacts,
            task=attempt.task_key,
            status=verdict.status,
            reward=verdict.reward,
            why=note,
        )
        store.append_event(
            time.time(), row["run_id"], "review.fixture", os.getuid(), {"item": item, "name": name}
        )
    return place


def _chosen(references: tuple[str, ...], every: bool, packs: tuple[Path, ...]) -> list[Task]:
    from appliance.tasks import find_task, load_pack, shipped_packs

    if every == bool(references):
        raise UsageError("name the tasks to audit, or give --all", remedy="appliance review audit --all")
    folders = list(packs) or list(shipped_packs().values())
    if every:
        return [task for folder in folders for task in load_pack(folder)]
    return [find_task(reference, packs or None) for reference in references]


# showing


def _show(reads: Reads, number: int, as_json: bool, waits: int | None = None) -> None:
    from appliance.brief import find_brief
    from appliance.cli import sight
    from appliance.reviews import MOST_MEMBERS, see

    item = _item(reads, number)
    seen = see(item, reads.opinions(), reads.members(item["group_id"], MOST_MEMBERS), os.getuid())
    try:
        recipe = reads.run(item["run_id"])["recipe"]
    except NotFoundError:
        recipe = {}
    brief = find_brief(recipe, item["task_key"], item["task_hash"])
    if as_json:
        task = {"statement": brief.statement, "start": brief.start, "note": brief.note}
        told = {"as_of": time.time(), "item": {**seen.to_json(), **task}}
        click.echo(json.dumps(told if waits is None else {**told, "waiting": waits}))
        return
    for line in sight.sight_lines(seen, brief):
        click.echo(line)
