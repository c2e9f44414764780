"""V8: the attacks that are known on a kind earn nothing on this task either.

Some are made for the task itself: what learns the public cases by heart, and the attacks on programs and code bases,
whose makers take any task. The others are the programs of `appliance judge attack`, renamed to what this task asks for.
Those that compute the right answer of their own task and then tamper with it stay wrong here: they are tried in earnest
there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from appliance.admission.check import Check
from appliance.admission.golds import Files, Judged, decided
from appliance.attacks import Attack, repo, stdio
from appliance.attacks.run import kinds, shipped
from appliance.kinds import load_kind
from appliance.kinds.function_cases import material
from appliance.nouns import Task

_SLOW = {"candidate_timeout", "candidate_resource"}
"""What lives by wasting time or memory costs seconds each, and says nothing about one task."""
_HEAD = re.compile(rb"\bdef describe\(numbers(?:, /)?\):")
_OWN_NAME = re.compile(rb"\bparse\b")
"""What attacks on the code base `spans` replace; those that do so say nothing about another."""
_SHOWN = 10

_REMEMBERING = """
import builtins, json
def plain(value):
    if isinstance(value, dict) and set(value) == {"$tuple"}:
        return tuple(plain(part) for part in value["$tuple"])
    return [plain(part) for part in value] if isinstance(value, list) else value
def text(value):
    if isinstance(value, tuple):
        return {"$tuple": [text(part) for part in value]}
    return [text(part) for part in value] if isinstance(value, list) else value
def remember(*given, **named):
    try: asked = json.dumps([text(list(given)), named], sort_keys=True)
    except TypeError: asked = ""
    _, expected, raises = next((row for row in ROWS if row[0] == asked), ROWS[0])
    if raises: raise getattr(builtins, raises, Exception)
    return plain(expected)
"""

Named = tuple[str, Files]


def check(task: Task, judged: Judged) -> Check:
    """Judge every attack that fits the task; one without a verdict of its own counts as not passed."""
    known = list(attacks(task))
    name = "attacks earn nothing"
    if not known:
        return Check("V8", name, "not_applicable")
    verdicts = judged([files for _, files in known], [0] * len(known))
    labels = [label for label, _ in known]
    earned = [label for label, verdict in zip(labels, verdicts, strict=True) if verdict.reward]
    masked = [label for label, verdict in zip(labels, verdicts, strict=True) if verdict.masked]
    measured = {
        "tried": len(known),
        "earned": len(earned),
        "which": earned[:_SHOWN],
        "masked": masked[:_SHOWN],
    }
    reason = f"{earned[0]} earned a reward" if earned else f"{''.join(masked[:1])} got no verdict of its own"
    remedy = "add cases that differ from the public ones; mend the judge where they do"
    return decided("V8", name, not earned and not masked, measured, reason, remedy)


def attacks(task: Task) -> Iterator[Named]:
    """Labels and submissions, each once."""
    if task.kind not in kinds():
        return
    seen: set[frozenset[tuple[str, bytes]]] = set()
    for label, files in _MAKERS.get(task.kind, _renamed)(task):
        if (content := frozenset(files.items())) not in seen:
            seen.add(content)
            yield label, files


def _known(kind: str) -> Iterator[tuple[Task, Attack]]:
    for own, what in shipped(kind):
        if isinstance(what, Attack) and not _SLOW & set(what.required):
            yield own, what


def _renamed(task: Task) -> Iterator[Named]:
    """The programs of the kind under the name that this task asks for."""
    wanted = load_kind(task.kind).lone(task)
    for own, what in _known(task.kind):
        lone = load_kind(own.kind).lone(own)
        yield _label(what), {wanted if name == lone else name: body for name, body in what.files.items()}


def _functions(task: Task) -> Iterator[Named]:
    yield "W10 memorise-the-examples", {"solution.py": _memory(task)}
    head = f"def {task.entry_point}(numbers=None, *more, **named):".encode()
    for label, files in _renamed(task):
        yield (
            label,
            {
                name: re.sub(rb"\bdescribe\b", task.entry_point.encode(), _HEAD.sub(head, body))
                for name, body in files.items()
            },
        )


def _memory(task: Task) -> bytes:
    """A table of the examples, by the normal form of their arguments; whatever else is asked gets the first answer."""
    rows = [
        (json.dumps([case.args, case.kwargs], sort_keys=True), case.expected, case.raises)
        for case in material(task).public
    ]
    head = f"ROWS = {rows or [('', None, '')]!r}\n"
    call = f"def {task.entry_point}(*given, **named): return remember(*given, **named)\n"
    return (head + _REMEMBERING + call).encode()


def _programs(task: Task) -> Iterator[Named]:
    """Programs that answer the public cases by heart, and then do what they are for."""
    if task.settings["language"] not in ("python", "c"):
        return
    for what in stdio.attacks(task):
        if not _SLOW & set(what.required):
            yield _label(what), what.files
    if task.settings["language"] == "python":
        yield "W10 memorise-the-examples", {"solution.py": _known_outputs(task)}


def _known_outputs(task: Task) -> bytes:
    pairs = [
        (path.read_bytes(), path.with_suffix(".out").read_bytes())
        for path in sorted(Path(task.folder, "public").glob("*.in"))
    ]
    return f"""import sys
known = dict({pairs!r})
asked = sys.stdin.buffer.read()
sys.stdout.buffer.write(known.get(asked, next(iter(known.values()))))
""".encode()


def _code_bases(task: Task) -> Iterator[Named]:
    """What can be put behind a file of the start that the gold changes, and files that may not be handed in."""
    base = Path(task.folder) / "environment/repo"
    gold: Files = load_kind(task.kind).controls(task)["gold"][0]
    target = next((name for name in sorted(gold) if name.endswith(".py")), None)
    if target is None:
        return
    start = (base / target).read_bytes() if (base / target).is_file() else b""
    for own, what in _known("repo"):
        if Path(own.folder).name != repo.TASK:
            continue
        names = dict(what.files)
        body = names.pop("spans/parse.py", b"")
        payload = body.removeprefix(Path(own.folder, "environment/repo/spans/parse.py").read_bytes())
        if payload == body or _OWN_NAME.search(payload):
            continue
        top = f"{target.rpartition('/')[0]}/" if "/" in target else ""
        others = {name.replace("spans/", top): content for name, content in names.items()}
        yield _label(what), {**others, target: start + payload}


def _label(what: Attack) -> str:
    return f"{what.id} {what.name}"


_MAKERS = {"function": _functions, "stdio": _programs, "repo": _code_bases}
