"""V6: other right solutions pass too: those written by hand, and the gold in other words."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from appliance.admission.check import Check
from appliance.admission.golds import Files, Judged, decided, first_evidence
from appliance.kinds import load_kind
from appliance.manifest import walk
from appliance.nouns import Task

FOLDER = "solution/alternatives"
_MARK = "_in_other_words"
_BY_NAME = {"locals", "globals", "vars", "eval", "exec", "inspect"}
"""Names whose use may look variables up by their names."""


def check(task: Task, judged: Judged) -> Check:
    """Judge `solution/alternatives/NAME/` as it would be handed in, and a rewriting of a Python gold."""
    hand, rewritten = by_hand(task), automatic(task)
    known = {**rewritten, **hand}
    name = "alternatives pass"
    measured: dict[str, object] = {"by_hand": len(hand), "automatic": len(rewritten)}
    if not known:
        reason, remedy = "narrow: nothing but the gold was tried", f"add a right solution as {FOLDER}/NAME/"
        return decided("V6", name, False, measured, reason, remedy)
    found = dict(zip(known, judged(list(known.values()), [0] * len(known)), strict=True))
    bad = {label: verdict for label, verdict in found.items() if verdict.status != "pass"}
    why = "; ".join(f"{label} got {one.status}: {first_evidence(one)}" for label, one in bad.items())
    measured |= {"refused": sorted(bad)}
    remedy = "ask only for what the statement says"
    return decided("V6", name, not bad, measured, f"narrow tests: {why}", remedy)


def by_hand(task: Task) -> dict[str, Files]:
    """The right solutions that the author wrote beside the gold, by the name of their folder."""
    root = Path(task.folder) / FOLDER
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return {
        folder.name: {path.relative_to(folder).as_posix(): path.read_bytes() for path in walk(folder)}
        for folder in folders
    }


def automatic(task: Task) -> dict[str, Files]:
    """The gold in other words; nothing where it is no Python, or nothing of it can be said otherwise."""
    gold: Files = load_kind(task.kind).controls(task)["gold"][0]
    if not gold or not all(name.endswith(".py") for name in gold):
        return {}
    texts: Mapping[str, str] = {name: body.decode() for name, body in gold.items()}
    other = {name: rewritten(text) for name, text in texts.items()}
    if all(other[name] == ast.unparse(ast.parse(text)) + "\n" for name, text in texts.items()):
        return {}
    return {"the gold in other words": {name: text.encode() for name, text in other.items()}}


def rewritten(source: str) -> str:
    """The same program with other local names, answers that are named first, and branches the other way round.

    Comments go and the layout becomes normal. Whatever a caller or the program itself may look up by name keeps it:
    parameters, names of functions and classes, what is global or nonlocal.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _rename(node)
    turned: ast.AST = _Otherwise().visit(tree)
    return ast.unparse(ast.fix_missing_locations(turned)) + "\n"


class _Otherwise(ast.NodeTransformer):
    """`return X` by way of a name, and `if A: B else: C` as `if not A: C else: B`."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.AST]:
        if node.value is None or isinstance(node.value, ast.Name):
            return node
        name = f"answer{_MARK}"
        stored = ast.Assign([ast.Name(name, ast.Store())], node.value)
        return [stored, ast.Return(ast.Name(name, ast.Load()))]

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if not node.orelse or (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            return node
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


def _rename(function: ast.FunctionDef) -> None:
    """Give the local variables of a function, and of those in it, other names."""
    nodes = list(ast.walk(function))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    if _BY_NAME & {node.id for node in names} or any(isinstance(node, ast.ClassDef) for node in nodes):
        return
    kept = {name for node in nodes for name in _bound(node)}
    local = {node.id for node in names if isinstance(node.ctx, ast.Store)} - kept
    for node in names:
        if node.id in local and not node.id.endswith(_MARK):
            node.id += _MARK


def _bound(node: ast.AST) -> list[str]:
    """Names that a node binds, or declares, otherwise than as a plain variable."""
    match node:
        case ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return list(names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
    return []
