"""What is refused of a configuration before its consumer sees it: the constructs that make a consumer run code.

Files are read here only far enough to find them, by parsers that execute nothing and expand nothing. A hit is an
honest `fail`, because a person may well write one; only a factory that names a way to run code is `tamper`: nobody who
configures a log writes that by mistake. A task that needs a construct names it in `allow`.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator, Mapping

from appliance import values
from appliance.examination import Finding

Files = Mapping[str, bytes]
Allowed = frozenset[str]

_RUNNERS = {
    *(
        "os",
        "posix",
        "subprocess",
        "builtins",
        "pty",
        "shutil",
        "ctypes",
        "importlib",
        "runpy",
        "code",
        "pickle",
    ),
    *(
        "multiprocessing",
        "threading",
        "asyncio",
        "socket",
        "marshal",
        "webbrowser",
        "timeit",
        "cProfile",
        "trace",
    ),
}
"""Top-level modules whose members a log has no use for."""
_HANDLERS = {
    *("StreamHandler", "FileHandler", "NullHandler"),
    *("handlers.RotatingFileHandler", "handlers.TimedRotatingFileHandler", "handlers.WatchedFileHandler"),
    "handlers.MemoryHandler",
}
_CLASSES = {"Formatter", "Filter", *_HANDLERS}
_STREAMS = ("ext://sys.stdout", "ext://sys.stderr")
_NAMES = {"sys.stdout", "sys.stderr"}


def forbidden(construct: str, name: str, *, hostile: bool = False) -> Finding:
    """The finding for one construct in the file `name`."""
    return Finding("tamper" if hostile else "fail", "intake", "forbidden_construct", f"{name}: {construct}")


def text_of(body: bytes) -> str:
    """As every consumer reads it; what is no UTF-8 keeps its bytes."""
    return body.decode("utf-8", "surrogateescape")


def screen_logging(files: Files, allowed: Allowed) -> Finding | None:
    """Factories, `ext://` names, classes that are no handler, and files outside of the log folder."""
    for name, body in sorted(files.items()):
        try:
            found = _screen_json(body) if name.endswith(".json") else _screen_ini(text_of(body))
        except values.ValueFault as error:
            return Finding("fail", "intake", "syntax_error", f"{name}: {error}")
        except (configparser.Error, ValueError) as error:
            return Finding("fail", "intake", "syntax_error", f"{name}: {str(error).splitlines()[0]}")
        if found is not None:
            construct, hostile = found
            return forbidden(construct, name, hostile=hostile)
    return None


def _runs_code(dotted: str) -> bool:
    return re.split(r"[.:(]", dotted.removeprefix("ext://").strip())[0] in _RUNNERS


def _screen_json(body: bytes) -> tuple[str, bool] | None:
    for key, value in _pairs(values.loads(body)):
        shown = f"{key} = {str(value)[:80]}"
        if key in ("()", "."):
            return shown, type(value) is str and _runs_code(value)
        if key == "class" and str(value).removeprefix("logging.") not in _CLASSES:
            return shown, _runs_code(str(value))
        if type(value) is str and value.startswith("ext://") and value not in _STREAMS:
            return shown, _runs_code(value)
        if key == "filename" and not _is_inside(str(value)):
            return shown, False
    return None


def _pairs(tree: values.Tree) -> Iterator[tuple[str, values.Tree]]:
    """Every key with its value and every item of a list, however deep."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        pairs = (
            list(found.items())
            if type(found) is dict
            else [("", item) for item in found]
            if type(found) is list
            else []
        )
        yield from pairs
        waiting += [value for _, value in pairs]


def _is_inside(path: str) -> bool:
    """Whether a file that a handler writes lies in the log folder."""
    return not path.startswith("/") and ".." not in path.split("/") and "://" not in path


def _screen_ini(text: str) -> tuple[str, bool] | None:
    """`fileConfig` evaluates `class`, `args`, `kwargs` and, since Python 3.12, `defaults`: here none may need it."""
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    sections = [*parser.sections(), parser.default_section]
    for section in sections:
        is_formatter = section.startswith("formatter_")
        for key, value in parser[section].items():
            shown = f"[{section}] {key} = {value[:80]}"
            if "%(" in value and not (is_formatter and key in ("format", "datefmt")):
                return shown, False
            if key == "class" and value.removeprefix("logging.") not in _CLASSES:
                return shown, _runs_code(value)
            if key in ("args", "kwargs", "defaults") and not _is_literal(value):
                return shown, any(_runs_code(word) for word in re.split(r"[^\w.]+", value))
    return None


def _is_literal(text: str) -> bool:
    """Whether an expression is made of literals and the two standard streams, with files in the log folder."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    allowed = (ast.Expression, ast.Tuple, ast.List, ast.Dict, ast.Constant, ast.Load, ast.UnaryOp, ast.USub)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            good = ast.unparse(node) in {*_NAMES, "sys"}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            good = _is_inside(node.value)
        else:
            good = isinstance(node, allowed)
        if not good:
            return False
    return True


def _screen_words(files: Files, words: Mapping[str, str], allowed: Allowed) -> Finding | None:
    """Refuse directives by their first word on a line; comments are none. For consumers whose files are lines."""
    for name, body in sorted(files.items()):
        for line in text_of(body).splitlines():
            for token in re.split(r"[\s{}=;]+", re.sub(r"^\s*#.*", "", line)):
                feature = words.get(token.lower().strip("\"'"))
                if feature is not None and feature not in allowed:
                    return forbidden(token, name)
    return None


_LOGROTATE = {
    **dict.fromkeys(("prerotate", "postrotate", "firstaction", "lastaction", "preremove"), "scripts"),
    **dict.fromkeys(("compresscmd", "uncompresscmd", "shred"), "commands"),
    **dict.fromkeys(("mail", "mailfirst", "maillast"), "mail"),
    "include": "include",
}
"""Directive to the word of `allow` that a task writes when it needs it."""


def screen_logrotate(files: Files, allowed: Allowed) -> Finding | None:
    """Scripts, programs of its own choice, mail, and other files."""
    return _screen_words(files, _LOGROTATE, allowed)


def screen_sshd(files: Files, allowed: Allowed) -> Finding | None:
    """Other files; and `exec`, which belongs to the client's files and could only be meant to run something."""
    for name, body in sorted(files.items()):
        for line in text_of(body).splitlines():
            words = re.split(r"[\s=]+", line.strip().lower().replace('"', ""))
            if words[0] == "include" and "include" not in allowed:
                return forbidden("include", name)
            if words[0] == "match" and "exec" in words:
                return forbidden("match exec", name)
    return None


def screen_nginx(files: Files, allowed: Allowed) -> Finding | None:
    """Files outside of the submission, modules, and logs that are written to devices or to other processes."""
    for name, body in sorted(files.items()):
        for directive, *arguments in _nginx_directives(text_of(body)):
            places = [argument for argument in arguments if argument.startswith("/") or ".." in argument]
            if directive == "include" and (places or "*" in "".join(arguments)):
                return forbidden(f"include {' '.join(places or arguments)[:80]}", name)
            if directive == "load_module" or directive.startswith(("perl", "js_", "lua_")):
                return forbidden(directive, name)
            devices = [place for place in arguments if re.match(r"/+(proc|dev|job)\b", place)]
            if directive in ("access_log", "error_log", "root", "alias") and devices:
                return forbidden(f"{directive} {devices[0][:80]}", name)
    return None


def _nginx_directives(text: str) -> Iterator[list[str]]:
    """The words of each simple directive and block head; quotes and comments as nginx reads them."""
    words: list[str] = []
    for token in re.findall(
        r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[;{}]|(?:\\.|[^\s;{}"'#\\])[^\s;{}]*""", text
    ):
        if token.startswith("#"):
            continue
        if token not in ("{", "}", ";"):
            words.append(re.sub(r"\\(.)", r"\1", token.strip("\"'")))
        elif words:
            yield words
            words = []


_LINE_ENDS = re.compile(r"\\(n|r|x0[aAdD]|01[25]|u000[aAdD]|U0000000[aAdD])")


def screen_systemd(files: Files, allowed: Allowed) -> Finding | None:
    """Escaped ends of lines: with one, a value could pass for another property where systemd prints them."""
    for name, body in sorted(files.items()):
        if match := _LINE_ENDS.search(text_of(body)):
            return forbidden(f"the escape {match[0]}", name)
    return None
