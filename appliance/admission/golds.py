"""The checks that judge what is known: the gold again and again, nothing, stubs, and other right solutions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import flakes
from appliance.admission.check import Check, CheckState
from appliance.kinds import load_kind
from appliance.manifest import walk
from appliance.nouns import Task, Verdict
from appliance.orders import derive_seed
from appliance.statistics import quantile
from appliance.verdicts import EVIDENCE_CAP

Files = Mapping[str, bytes]
Judged = Callable[[Sequence[Files], Sequence[int]], list[Verdict]]
"""Judges submissions, each with its seed, several at the same time."""
RUNS, REPEATS = 5, 10
TIME_MARGIN, MEMORY_MARGIN = 4.0, 2.0
ALTERNATIVES = "solution/alternatives"


@dataclass(frozen=True, slots=True)
class GoldRuns:
    """The gold judged `REPEATS` times with one seed and as often with others."""

    equal: tuple[Verdict, ...]
    different: tuple[Verdict, ...]

    @property
    def all(self) -> tuple[Verdict, ...]:
        return (*self.equal, *self.different)


def run_gold(task: Task, judged: Judged) -> GoldRuns:
    gold = load_kind(task.kind).controls(task)["gold"][0]
    seeds = [derive_seed("admission", task.task_hash, number) for number in range(REPEATS)]
    found = judged([gold] * 2 * REPEATS, [seeds[0]] * REPEATS + seeds)
    return GoldRuns(tuple(found[:REPEATS]), tuple(found[REPEATS:]))


def passes(runs: GoldRuns) -> Check:
    """V1: the gold passes with other seeds, which shuffle and draw the cases anew, and while others are judged."""
    first = runs.different[:RUNS]
    right = sum(verdict.reward == 1.0 for verdict in first)
    measured = {
        "passed": right,
        "of": RUNS,
        "statuses": dict(Counter(verdict.status for verdict in first)),
        "varied": ["seed of order and random cases", "hash seed where the kind draws it", "load"],
    }
    wrong = next((verdict for verdict in first if verdict.reward != 1.0), None)
    why = "" if wrong is None else f"the gold got {wrong.status}: {_first_evidence(wrong)}"
    return _check("V1", "gold passes", right == RUNS, measured, why, "mend the gold or the hidden tests")


def stable(runs: GoldRuns) -> Check:
    """V10: no flip of a status or of a case."""
    flips = sum(
        len(part) - max(Counter(v.status for v in part).values()) for part in (runs.equal, runs.different)
    )
    cases = flakes.count(list(runs.all), EVIDENCE_CAP).flaky()
    bound = 1 - 0.05 ** (1 / REPEATS)
    measured = {
        "flips": flips,
        "repeats": REPEATS,
        "flaky_cases": [list(case) for case, _ in cases][:20],
        "flake_rate_below": round(bound, 3),
    }
    good = not flips and not measured["flaky_cases"]
    return _check("V10", "stable", good, measured, f"the gold flipped {flips} times", "remove what is random")


def within_budget(task: Task, runs: GoldRuns) -> Check:
    """V11: four times the gold's p95 of time and twice its memory are within the budgets, on this machine."""
    budgets, over = task.settings["budgets"], []
    measured: dict[str, object] = {}
    for name, budget, margin in (
        ("cpu_s", "cpu_s", TIME_MARGIN),
        ("wall_s", "wall_s", TIME_MARGIN),
        ("peak_mib", "memory_mb", MEMORY_MARGIN),
    ):
        used = sorted(verdict.cost[name] for verdict in runs.all if name in verdict.cost)
        if not used:
            continue
        # Times of a kind with a jail for each case are sums over the cases, each of which has the whole budget.
        most = quantile(used, 0.95) / (_jails(task) if margin == TIME_MARGIN else 1)
        measured[name] = {"p95": round(most, 4), "budget": budgets[budget]}
        if margin * most > budgets[budget]:
            over.append(f"{margin:g} x {name} {most:.3g} > {budgets[budget]:g}")
    return _check("V11", "within budget", not over, measured, "; ".join(over), "raise [budgets] of pool.toml")


def _jails(task: Task) -> int:
    return sum(load_kind(task.kind).totals(task)) if task.kind in ("stdio", "shell") else 1


def nothing_fails(task: Task, judged: Judged) -> Check:
    """V2: what was not worked on earns nothing, and not because the host failed."""
    known = {
        name: files for name, (files, wanted) in load_kind(task.kind).controls(task).items() if not wanted
    }
    return _all_fail("V2", "nothing earns nothing", known, judged, "give the tests something to ask")


def stubs_fail(task: Task, judged: Judged) -> Check:
    """V3: constants, echoes and programs that say nothing earn nothing."""
    known = stubs(task)
    if not known:
        return Check("V3", "stubs fail", "not_applicable")
    return _all_fail("V3", "stubs fail", known, judged, "add cases whose answers differ")


def _all_fail(identity: str, name: str, known: Mapping[str, Files], judged: Judged, remedy: str) -> Check:
    found = dict(zip(known, judged(list(known.values()), [0] * len(known)), strict=True))
    bad = [label for label, verdict in found.items() if verdict.reward != 0.0]
    measured = {"tried": len(found), "earned": {label: found[label].status for label in bad}}
    return _check(
        identity, name, not bad, measured, f"{', '.join(bad[:5])} got {_rewards(found, bad)}", remedy
    )


def _rewards(found: Mapping[str, Verdict], bad: Sequence[str]) -> str:
    return ", ".join(f"{found[label].status} {found[label].reward}" for label in bad[:5])


def stubs(task: Task) -> dict[str, Files]:
    """Submissions that look at nothing, by what they do."""
    kind = load_kind(task.kind)
    texts: dict[str, str] = {}
    if task.kind == "function":
        bodies = {
            "None": "return None",
            "0": "return 0",
            "1": "return 1",
            "True": "return True",
            "False": "return False",
            "empty text": "return ''",
            "empty list": "return []",
            "first argument": "return given[0] if given else None",
            "last argument": "return given[-1] if given else None",
            "all arguments": "return given",
            "raise": "raise ValueError",
        }
        texts = {
            name: f"def {task.entry_point}(*given, **named):\n    {body}\n" for name, body in bodies.items()
        }
    elif task.kind == "stdio" and task.settings.get("language", "python") == "python":
        texts = {
            "silence": "pass\n",
            "echo": "import sys\nsys.stdout.write(sys.stdin.read())\n",
            "zero": "print(0)\n",
            "first line": "print(input())\n",
        }
    elif task.kind == "sql":
        texts = {"select 1": "SELECT 1;\n", "comment": "-- nothing\n", "null": "SELECT NULL;\n"}
    elif task.kind == "shell":
        texts = {"true": "true\n", "false": "exit 1\n", "remove all": "rm -rf ./*\n", "list": "ls\n"}
    elif task.kind == "config":
        texts = {"comment": "# nothing\n", "braces": "{}\n"}
    return {name: {kind.lone(task): text.encode()} for name, text in texts.items()}


def alternatives(task: Task, judged: Judged) -> Check:
    """V6: another right solution passes: those by hand in solution/alternatives, else the gold written otherwise."""
    hand = by_hand(task)
    known = hand or automatic(task)
    if not known:
        return _check(
            "V6",
            "alternatives pass",
            False,
            {"by_hand": 0, "automatic": 0},
            "narrow: nothing but the gold was tried",
            f"add another right solution under {ALTERNATIVES}/NAME/",
        )
    found = dict(zip(known, judged(list(known.values()), [0] * len(known)), strict=True))
    bad = {name: verdict for name, verdict in found.items() if verdict.reward != 1.0}
    measured = {"by_hand": len(hand), "automatic": 0 if hand else len(known), "refused": sorted(bad)}
    why = "; ".join(
        f"{name} got {verdict.status}: {_first_evidence(verdict)}" for name, verdict in bad.items()
    )
    return _check(
        "V6",
        "alternatives pass",
        not bad,
        measured,
        f"narrow tests: {why}",
        "ask only for what the statement says",
    )


def by_hand(task: Task) -> dict[str, Files]:
    """The right solutions that the author wrote beside the gold, as they would be handed in."""
    root = Path(task.folder) / ALTERNATIVES
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return {
        folder.name: {path.relative_to(folder).as_posix(): path.read_bytes() for path in walk(folder)}
        for folder in folders
    }


def automatic(task: Task) -> dict[str, Files]:
    """The gold with other local names and another layout; nothing where it is no Python."""
    gold = load_kind(task.kind).controls(task)["gold"][0]
    if not gold or not all(name.endswith(".py") for name in gold):
        return {}
    return {"other names": {name: renamed(body.decode()).encode() for name, body in gold.items()}}


def renamed(source: str) -> str:
    """The same program with its functions' local variables renamed, comments gone and the layout normal.

    Parameters keep their names, which callers may use; so does what is global, nonlocal or looked up by name.
    """
    tree = ast.parse(source)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        inner = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        words = {
            a.arg for node in ast.walk(function) if isinstance(node, ast.arguments) for a in _arguments(node)
        }
        scopes = [node for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal)]
        if scopes or {"locals", "eval", "exec", "vars"} & {node.id for node in inner}:
            continue
        stored = {node.id for node in inner if isinstance(node.ctx, ast.Store)} - words
        for node in inner:
            if node.id in stored and not node.id.endswith("_renamed"):
                node.id += "_renamed"
    return ast.unparse(tree) + "\n"


def _arguments(node: ast.arguments) -> list[ast.arg]:
    return [*node.posonlyargs, *node.args, *node.kwonlyargs, *filter(None, [node.vararg, node.kwarg])]


def _first_evidence(verdict: Verdict) -> str:
    for item in verdict.evidence:
        words = (str(item.get(name, "")) for name in ("layer", "case", "outcome", "text"))
        return " ".join(word for word in words if word)[:200]
    return ""


def _check(
    identity: str, name: str, good: bool, measured: Mapping[str, object], reason: str, remedy: str
) -> Check:
    state: CheckState = "passed" if good else "failed"
    return Check(identity, name, state, measured, "" if good else reason, "" if good else remedy)
