"""Reads Python sources in a jail for `security` and `suppressions`: run with file names, answers with rows of JSON.

A row is `[code, file, line, message]`. It parses and never executes. It runs under the tools' Python and imports
nothing of ours. A source that it cannot read is a row too: what cannot be read is not clean.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import math
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator

Row = tuple[str, int, str]

DENIED_NAMES = {"exec", "eval", "compile", "__import__", "__builtins__", "__loader__", "__spec__"}
DENIED_ATTRIBUTES = {
    "__builtins__", "__code__", "__closure__", "__globals__", "__subclasses__", "__getattribute__", "__import__",
    "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame", "cr_frame", "tb_frame", "_getframe",
    "_current_frames", "settrace", "setprofile", "get_objects", "get_referrers", "get_referents", "CodeType",
    "FunctionType", "co_code", "co_consts", "get_type_hints", "ForwardRef",
}  # fmt: skip
DENIED_MODULES = {
    "_ctypes", "bdb", "builtins", "cProfile", "code", "codeop", "ctypes", "dill", "doctest", "gc", "imp", "marshal",
    "pdb", "profile", "ptrace", "runpy", "timeit", "trace", "zipimport",
}  # fmt: skip
HIDDEN_WORDS = tuple(name for name in sorted(DENIED_ATTRIBUTES | DENIED_NAMES) if name.startswith("__"))
"""Even in a string: it can be a path of attributes to follow."""
LOADERS = {"import_module", "spec_from_file_location", "spec_from_loader", "module_from_spec", "exec_module"}
BLOB_PIECE, BLOB_TOTAL = 32, 160
"""Characters: the shortest literal that can be a part of a hidden program, and how many of them are one."""
BLOB_BITS = 3.2
"""Bits per character from which a text without spaces is no word list."""
BIG_NUMBER = 10**120
ENCODED = re.compile(r"[A-Za-z0-9+/=_\-!#$%&()*;<>?@^`{|}~.,:\[\]]+")
CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
SUPPRESSION = re.compile(
    r"noqa\b|nosec\b|type:\s*ignore|pragma:\s*no\s*(cover|branch|mutate)|\b(ruff|flake8):|"
    r"\bmypy:|\b(pylint|ruff):\s*(disable|skip)|py(right|re)[:-]|pytype:|fmt:\s*(off|skip)|yapf:\s*disable|isort:\s*skip",
    re.IGNORECASE,
)
SWITCHES = {"no_type_check", "no_type_check_decorator"}


def denied(source: bytes) -> Iterator[Row]:
    """Ways to run or reach what is not in the source as plain code."""
    yield from wrapped(source)
    tree = ast.parse(source)
    shadowed = own_names(tree)
    pieces: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name) and node.id in DENIED_NAMES - shadowed:
            yield "dynamic-code", line, f"uses {node.id}"
        elif isinstance(node, ast.Attribute) and node.attr in DENIED_ATTRIBUTES:
            yield "introspection", line, f"uses .{node.attr}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(node)
        elif isinstance(node, ast.Call):
            yield from called(node)
        elif isinstance(node, ast.Subscript):
            yield from looked_up(node)
        elif isinstance(node, ast.Constant) and (word := hidden_word(node.value)):
            yield "introspection", line, f"names {word} in a string"
        elif isinstance(node, ast.Constant) and (size := blob_size(node.value)) > 0:
            pieces.append((line, size))
    if sum(size for _, size in pieces) >= BLOB_TOTAL:
        total = sum(size for _, size in pieces)
        yield "encoded-blob", pieces[0][0], f"{total} characters of encoded data in literals"


def wrapped(source: bytes) -> Iterator[Row]:
    """A source that is not what it looks like: another encoding, or characters that nobody sees."""
    for number, line in enumerate(source.split(b"\n")[:2], 1):
        found = CODING.match(line)
        if found and found[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"latin-1"):
            yield "source-encoding", number, "declares an unusual encoding"
    for number, text in enumerate(source.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"), 1):
        if INVISIBLE.search(text):
            yield "invisible", number, "holds characters that are not shown"


def own_names(tree: ast.Module) -> set[str]:
    """Names that the module itself defines and never deletes: not those of the built-ins any more."""
    made = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    gone = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Delete)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return made - gone


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[Row]:
    """Modules, and names out of modules, that are denied."""
    if isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
        if (node.module or "").split(".")[0] in DENIED_MODULES and not node.level:
            yield "denied-import", node.lineno, f"imports from {node.module}"
        for name in names:
            if name in DENIED_ATTRIBUTES | LOADERS:
                yield "introspection", node.lineno, f"imports {name}"
        return
    for alias in node.names:
        if alias.name.split(".")[0] in DENIED_MODULES:
            yield "denied-import", node.lineno, f"imports {alias.name}"


def called(node: ast.Call) -> Iterator[Row]:
    """Calls that load or reach something by a computed name."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in LOADERS and not (node.args and plain(node.args[0])):
        yield "dynamic-import", node.lineno, f"calls {name} with a computed name"
    elif name in LOADERS and named(node.args[0]) in DENIED_MODULES:
        yield "denied-import", node.lineno, f"imports {named(node.args[0])}"
    elif any(keyword.arg == "eval_str" for keyword in node.keywords):
        yield "dynamic-code", node.lineno, "evaluates annotations"
    elif name == "getattr" and len(node.args) > 1 and named(node.args[1]) in DENIED_ATTRIBUTES | DENIED_NAMES:
        yield "introspection", node.lineno, f"reaches {named(node.args[1])}"


def looked_up(node: ast.Subscript) -> Iterator[Row]:
    """Names that are looked up in a table of the interpreter's own; in any other table they are just words."""
    table, name = node.value, named(node.slice)
    tables = isinstance(table, ast.Call) and getattr(table.func, "id", "") in ("globals", "locals", "vars")
    if not tables and getattr(table, "attr", "") not in ("modules", "__dict__"):
        return
    if name in DENIED_NAMES | DENIED_MODULES or (tables and not name):
        yield "introspection", node.lineno, f"reaches {name or 'a computed name'}"


def hidden_word(value: object) -> str:
    """A denied name that a string holds; empty when there is none."""
    if not isinstance(value, str):
        return ""
    return next((word for word in HIDDEN_WORDS if word in value), "")


def plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def named(node: ast.expr) -> str:
    """The text of a literal, with parts that were written apart put together; empty when it is computed."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = named(node.left), named(node.right)
        return left + right if left and right else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def blob_size(value: object) -> int:
    """How many characters of a literal may be a program in disguise; 0 when it is a text or a number to be read."""
    if isinstance(value, int):
        return BLOB_TOTAL if abs(value) > BIG_NUMBER else 0
    if isinstance(value, bytes):
        printable = sum(byte in b"\t\n\r" or 32 <= byte < 127 for byte in value)
        if len(value) >= BLOB_PIECE and printable < 0.7 * len(value):
            return BLOB_TOTAL
        value = value.decode("latin-1")
    if not isinstance(value, str) or len(value) < BLOB_PIECE or len(value.split()) > len(value) / 24 + 1:
        return 0
    dense = "".join(value.split())
    return len(dense) if ENCODED.fullmatch(dense) and is_mixed(dense) else 0


def is_mixed(text: str) -> bool:
    """Whether characters are as evenly spread as in encoded data, and digits among letters."""
    counts = Counter(text)
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    digits = sum(text.count(digit) for digit in "0123456789") / len(text)
    letters = sum(character.isalpha() for character in text) / len(text)
    orderly = sum(abs(ord(a) - ord(b)) == 1 for a, b in itertools.pairwise(text)) / len(text)
    return bits >= BLOB_BITS and 0.04 <= digits <= 0.9 and letters >= 0.1 and orderly < 0.5


def suppressed(source: bytes) -> Iterator[Row]:
    """Comments and switches that tell a tool to look away."""
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT and (found := SUPPRESSION.search(token.string)):
            yield "suppression", token.start[0], found[0].strip()
        elif token.type == tokenize.NAME and token.string in SWITCHES:
            yield "suppression", token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and hides(node):
            yield "suppression", node.lineno, "code that only a type checker does not see"


def hides(node: ast.If) -> bool:
    """Whether a branch on TYPE_CHECKING keeps code from the type checker."""
    return bool(node.orelse) or isinstance(node.test, ast.UnaryOp | ast.Compare | ast.BoolOp)


READERS = {"denied": denied, "suppressed": suppressed}


def main() -> None:
    reader = READERS[sys.argv[1]]
    sys.setrecursionlimit(4000)
    rows: list[tuple[str, str, int, str]] = []
    for name in sys.argv[2:]:
        try:
            with open(name, "rb") as file:  # noqa: PTH123 - pathlib costs more to import than the rest
                source = file.read()
            rows += [(code, name, line, message) for code, line, message in reader(source)]
        except (
            SyntaxError,
            ValueError,
            RecursionError,
            MemoryError,
            LookupError,
            tokenize.TokenError,
        ) as fault:
            rows.append(("unreadable", name, 0, type(fault).__name__))
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
