"""The `config` kind: files that a real consumer reads, judged by asking the consumer.

The judge's half. It holds the wanted answers and never searches a text: each probe is a question to the consumer,
asked by a program in a jail of its own that starts cold, and answered by what the consumer did. Candidate files are
data for a real program but may make it execute things, so what comes out of a jail is a hostile answer: it is
compared here, it may carry a token that was drawn for this question, and constructs that execute code are refused
before (`config_screens`). Probes that must be refused weigh as much as those that must be let through.
"""

from __future__ import annotations

import functools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import values
from appliance.dialogue import SILENT, Broken, Dialogue
from appliance.errors import TaskError
from appliance.examination import (
    Examination,
    Finding,
    Layer,
    Opener,
    Outcome,
    jail_cost,
    jail_finding,
    limits,
)
from appliance.kinds.config_consumers import CONSUMERS, Consumer
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.sandbox.client import JailResult
from appliance.sandbox.policy import Limits, Policy
from appliance.tables import Field, check_table, nearest

START = ""
PUBLIC = "public/examples.json"
HIDDEN = "tests/probes.json"
FILES = (PUBLIC, HIDDEN)
TOKEN = "{nonce}"

SETTINGS = {
    "consumer": Field(str, choices=tuple(CONSUMERS)),
    "files": Field(list),
    "allow": Field(list, required=False),
    "core": Field(str, required=False, choices=("binary", "graded")),
}
_PROBE = {"ask": Field(dict), "negative": Field(bool, required=False)}
_COMMAND = ("python3", "-S", "-s", "-B", "-X", "utf8", "/job/worker.py")
_LEAST = 0.01
"""The smallest time limit that a jail takes, in seconds."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and its wanted answer, in which the token stands for a word drawn for this judging."""

    layer: Layer
    index: int
    ask: Mapping[str, Any]
    expected: values.Tree
    negative: bool
    """Whether something must be refused, ignored or absent: a file that allows everything fails it."""


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise TaskError unless the folder can be judged as a `config` task."""
    where = f"{folder}/pool.toml [config]"
    files, consumer = settings["files"], CONSUMERS[settings["consumer"]]
    if not files or not all(type(name) is str and name for name in files) or len(set(files)) < len(files):
        raise TaskError(
            f"{where}: field 'files' is no list of different names", remedy='write files = ["name"]'
        )
    for word in settings.get("allow", []):
        if word not in consumer.features:
            remedy = (
                nearest(str(word), consumer.features) if consumer.features else "remove it: there is none"
            )
            raise TaskError(f"{where}: field 'allow': {word!r} is no feature of this consumer", remedy=remedy)
    for name in files:
        if not (folder / "solution" / name).is_file():
            raise TaskError(f"{folder}: solution/{name} is missing", remedy="add the gold file")
    read_probes(folder, "quick", consumer)
    hidden = read_probes(folder, "hidden", consumer)
    negative = sum(probe.negative for probe in hidden)
    if 2 * negative != len(hidden):
        raise TaskError(
            f"{folder / HIDDEN}: {negative} of {len(hidden)} probes are negative",
            remedy="write as many negative probes as others, so that allowing everything earns nothing",
        )
    gold = {name: (folder / "solution" / name).read_bytes() for name in files}
    if finding := consumer.screen(gold, frozenset(settings.get("allow", []))):
        raise TaskError(
            f"{folder}/solution/{finding.text} is refused of submissions", remedy="write it otherwise"
        )


def read_probes(folder: Path, layer: Layer, consumer: Consumer) -> tuple[Probe, ...]:
    """The public or hidden probes of a task folder, checked."""
    path = folder / (PUBLIC if layer == "quick" else HIDDEN)
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write strict JSON") from None
    if type(rows) is not list or not rows:
        raise TaskError(f"{path}: not a list of probes, or an empty one", remedy="write at least one probe")
    return tuple(
        _probe(f"{path}: probe {index}", layer, index, row, consumer) for index, row in enumerate(rows)
    )


def _probe(where: str, layer: Layer, index: int, row: values.Tree, consumer: Consumer) -> Probe:
    if type(row) is not dict or "expected" not in row:
        raise TaskError(f"{where}: not an object with 'ask' and 'expected'", remedy="write both")
    check_table(where, {key: item for key, item in row.items() if key != "expected"}, _PROBE, TaskError)
    check_table(f"{where}: ask", row["ask"], consumer.ask, TaskError)
    try:
        expected = values.normal(row["expected"])
    except values.ValueFault as error:
        raise TaskError(f"{where}: field 'expected': {error}", remedy="write plain JSON") from None
    return Probe(layer, index, row["ask"], expected, row.get("negative", False))


def accepts(task: Task, name: str) -> bool:
    """Whether a submission may hold a file of that name."""
    return name in task.settings["files"]


def lone(task: Task) -> str:
    """The name of a submission that is one file."""
    return str(task.settings["files"][0])


def intake(task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """The first file must be there; what executes code must not."""
    if lone(task) not in artefacts:
        return Finding("fail", "intake", "missing_file", lone(task))
    consumer = CONSUMERS[task.settings["consumer"]]
    return consumer.screen(artefacts, frozenset(task.settings.get("allow", [])))


def totals(task: Task) -> tuple[int, int]:
    """How many public and hidden probes there are."""
    public, hidden = _pinned_probes(
        task.folder, task.settings["consumer"], task.public_hash, task.hidden_hash
    )
    return len(public), len(hidden)


@functools.lru_cache(maxsize=512)
def _pinned_probes(
    folder: str, consumer: str, public: str, hidden: str
) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
    """Probes by content hash: read once, and only while the folder still is what the task was loaded from."""
    check_unchanged(Path(folder), public, hidden)
    known = CONSUMERS[consumer]
    return read_probes(Path(folder), "quick", known), read_probes(Path(folder), "hidden", known)


def controls(task: Task) -> dict[str, tuple[dict[str, bytes], float]]:
    """Submissions whose reward is known: what `appliance task check` runs."""
    folder, files = Path(task.folder), task.settings["files"]
    start = {name: (folder / "environment" / name) for name in files}
    return {
        "gold": ({name: (folder / "solution" / name).read_bytes() for name in files}, 1.0),
        "empty": ({lone(task): b""}, 0.0),
        "start": ({name: path.read_bytes() for name, path in start.items() if path.is_file()}, 0.0),
    }


def examine(
    task: Task,
    artefacts: Mapping[str, bytes],
    jails: Opener,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Examination:
    """Ask every public probe and, when all are right, every hidden one in an order drawn from `seed`."""
    name = task.settings["consumer"]
    public, hidden = _pinned_probes(task.folder, name, task.public_hash, task.hidden_hash)
    _require_programs(task, jails)
    order = list(hidden)
    random.Random(f"{seed}:{task.task_hash}").shuffle(order)
    survey = _Survey(task, artefacts, jails, seed)
    layers: tuple[tuple[Layer, Sequence[Probe]], ...] = (("quick", public), ("hidden", order))
    seconds: dict[Layer, float] = {}
    for layer, probes in layers:
        started = clock()
        going_on = survey.ask_all(probes)
        seconds[layer] = clock() - started
        if not going_on:
            break
    return Examination(
        public_total=len(public),
        hidden_total=len(hidden),
        outcomes=tuple(sorted(survey.outcomes, key=lambda found: (found.layer != "quick", found.case))),
        finding=survey.finding,
        seconds=seconds,
        cost=survey.cost,
    )


@dataclass(slots=True)
class _Survey:
    """All jails of one submission: what came back, and what they used of its budget together."""

    task: Task
    artefacts: Mapping[str, bytes]
    jails: Opener
    seed: int
    outcomes: list[Outcome] = field(default_factory=list)
    finding: Finding | None = None
    cost: dict[str, float] = field(default_factory=dict)

    def ask_all(self, probes: Sequence[Probe]) -> bool:
        """Whether all were answered rightly. A consumer that refuses the files once is not asked again."""
        for probe in probes:
            outcome = self._ask(probe)
            if outcome is None:
                return False
            self.outcomes.append(outcome)
            if outcome.outcome == "refused":
                return False
        return all(outcome.correct for outcome in self.outcomes)

    def _ask(self, probe: Probe) -> Outcome | None:
        token = (
            random.Random(f"{self.seed}:{self.task.task_hash}:{probe.layer}:{probe.index}").randbytes(6).hex()
        )
        settings = self.task.settings
        asked = {"op": "probe", "consumer": settings["consumer"], "files": settings["files"]}
        budgets = settings["budgets"]
        outcome: Outcome | None = None
        broken: Broken | None = None
        with self.jails.open(_COMMAND, Policy(self._room()), files=self._files()) as conversation:
            dialogue = Dialogue(conversation, int(budgets["answer_kb"]) * 1024, float(budgets["wall_s"]))
            try:
                outcome = judge_reply(
                    probe, token, dialogue.ask({**asked, "ask": with_token(probe.ask, token)})
                )
                dialogue.end()
            except Broken as breach:
                broken = breach
            result = conversation.finish()
        self._count(result)
        self.finding = _decide(result, broken, probe.layer)
        return None if self.finding else outcome

    def _files(self) -> dict[str, bytes]:
        given = {f"config/{name}": body for name, body in self.artefacts.items()}
        return {**_worker_files(self.task.settings["consumer"]), **given}

    def _room(self) -> Limits:
        """What is left of the budget of the submission."""
        own = limits(self.task)
        left = {name: getattr(own, name) - self.cost.get(name, 0.0) for name in ("cpu_s", "wall_s")}
        return replace(own, cpu_s=max(_LEAST, left["cpu_s"]), wall_s=max(_LEAST, left["wall_s"]))

    def _count(self, result: JailResult) -> None:
        for name, used in jail_cost(result).items():
            known = self.cost.get(name, 0.0)
            self.cost[name] = max(known, used) if name == "peak_mib" else known + used


def judge_reply(probe: Probe, token: str, reply: Mapping[str, Any]) -> Outcome:
    """Compare one answer with what is wanted; Broken when it is no answer."""
    if reply.keys() == {"refused"} and type(reply["refused"]) is str:
        return Outcome(probe.layer, probe.index, "refused", reply["refused"])
    if reply.keys() != {"answer"}:
        raise Broken("malformed", "not a reply")
    try:
        answer = values.normal(reply["answer"])
    except values.ValueFault as error:
        raise Broken("malformed", str(error)) from None
    same = values.compare(values.normal(with_token(probe.expected, token)), answer)
    word = "correct" if same else "wrong_negative" if probe.negative else "wrong_answer"
    return Outcome(probe.layer, probe.index, word, values.dumps(answer)[:2000].decode())


def with_token(tree: values.Tree, token: str) -> values.Tree:
    """`tree` with the token of this judging in place of its placeholder, in keys too."""
    if type(tree) is str:
        return tree.replace(TOKEN, token)
    if type(tree) is list:
        return [with_token(item, token) for item in tree]
    if type(tree) is dict:
        return {key.replace(TOKEN, token): with_token(item, token) for key, item in tree.items()}
    return tree


def _decide(result: JailResult, broken: Broken | None, layer: Layer) -> Finding | None:
    """The jail's own ending first, then a breach of protocol."""
    ending = jail_finding(result, layer)
    if ending is not None or broken is None:
        return ending
    if broken.outcome == SILENT:
        return Finding("infra", layer, SILENT, "the jail was not ended at its wall limit")
    text = (
        broken.text
        or f"{result.detail or result.status} {result.stderr[-400:].decode(errors='replace')}".strip()
    )
    return Finding("candidate_protocol", layer, broken.outcome, text)


_present: set[tuple[str, str]] = set()
_looking = threading.Lock()


def _require_programs(task: Task, jails: Opener) -> None:
    """TaskError when the jail's image lacks the consumer; asked once, in a jail that holds nothing of a candidate."""
    name = task.settings["consumer"]
    consumer = CONSUMERS[name]
    with _looking:
        known = not consumer.programs or (task.image, name) in _present
    if known:
        return
    own = limits(task)
    with jails.open(_COMMAND, Policy(own), files=_worker_files(name)) as conversation:
        dialogue = Dialogue(conversation, 65_536, own.wall_s)
        try:
            missing = dialogue.ask({"op": "programs", "paths": list(consumer.programs)}).get("missing")
        except Broken:
            # Whatever keeps this jail from answering keeps the next ones, which say it by their own ending.
            return
    if missing:
        raise TaskError(
            f"{task.folder}/pool.toml: field 'consumer': {name} needs {missing[0]}, which the image does not have",
            remedy=f"install it where the image is made from, on Debian: apt-get install {consumer.package}",
        )
    with _looking:
        _present.add((task.image, name))


@functools.cache
def _worker_files(consumer: str) -> Mapping[str, bytes]:
    here = Path(__file__)
    programs = ("config_tools.py", f"config_{consumer}.py", "function_worker.py")
    return {
        "worker.py": here.with_name("config_worker.py").read_bytes(),
        "appliance/values.py": Path(values.__file__).read_bytes(),
        **{f"appliance/kinds/{name}": here.with_name(name).read_bytes() for name in programs},
    }
