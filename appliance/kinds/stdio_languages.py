"""The languages that a `stdio` program may be written in: what it is called, and how it is built and run.

A compiler runs in a jail of its own, since it works on what the candidate wrote; only the program that it made leaves
that jail, for the jails of the same candidate. What the image lacks is found out before, without a byte of the
candidate's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.examination import Finding, Opener, jail_finding
from appliance.sandbox.client import JailResult, JailStatus
from appliance.sandbox.policy import Limits, Policy

PYTHON = ("python3", "-s", "-B", "-X", "utf8")
PROGRAM = "program"

BUILD_LIMITS = Limits(memory_mb=1024, pids=32, cpu_s=20, wall_s=60, disk_mb=64, output_kb=16 * 1024)
"""Of the compiler's jail; the program is its standard output."""
PROBE = Policy(Limits(pids=16, cpu_s=10, wall_s=30))


@dataclass(frozen=True, slots=True)
class Language:
    """How a program of one language is handed in, run, and perhaps built."""

    source: str
    """The file that is handed in."""
    run: tuple[str, ...]
    compilers: tuple[str, ...] = ()
    """Any one of them will do; none for a language that is interpreted."""
    options: tuple[str, ...] = ()

    @property
    def compiled(self) -> bool:
        return bool(self.compilers)


LANGUAGES: Mapping[str, Language] = {
    "python": Language("solution.py", (*PYTHON, "/job/solution.py")),
    "sh": Language("solution.sh", ("sh", "/job/solution.sh")),
    "bash": Language("solution.sh", ("bash", "/job/solution.sh")),
    "c": Language("solution.c", (f"/job/{PROGRAM}",), ("gcc", "clang", "cc"), ("-std=gnu17", "-O2")),
    "cpp": Language("solution.cpp", (f"/job/{PROGRAM}",), ("g++", "clang++", "c++"), ("-std=gnu++17", "-O2")),
}

_FIND = """for name; do
    "$name" --version >/dev/null &&
        printf '%s' "$SMALLEST" | "$name" -x "$LANGUAGE" -o /work/program - && /work/program &&
        { echo "$name"; exit 0; }
done; exit 9"""
_SMALLEST = {
    "c": "#include <stdio.h>\nint main(void) { return 0; }\n",
    "cpp": "#include <vector>\nint main() {}\n",
}
_BUILD = 'source=$1; shift; "$@" -o /work/program "$source" -lm >&2 && exec cat /work/program'


class Unbuilt(Exception):
    """There is no program to run; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


def find_tool(jails: Opener, language: Language) -> str:
    """The interpreter, or a compiler that compiles, of the image; Unbuilt with `task_broken` when it has none."""
    wanted = language.compilers or language.run[:1]
    result = _tried(jails, language)
    if result.status is JailStatus.infra:
        raise Unbuilt(Finding("infra", "quick", "infra", result.detail))
    if result.status is not JailStatus.ok:
        said = f"{result.detail or result.status} {result.stderr[-400:].decode(errors='replace')}"
        text = f"the image of the task has no {' or '.join(wanted)} that works: {said}"
        raise Unbuilt(Finding("task_broken", "quick", "no_tool", text))
    return result.stdout.decode().strip() if language.compiled else wanted[0]


def _tried(jails: Opener, language: Language) -> JailResult:
    if not language.compiled:
        return jails.run((language.run[0], "-c", ""), PROBE)
    name = language.source.rpartition(".")[2]
    text = _SMALLEST[name]
    policy = Policy(BUILD_LIMITS, env=(("LANGUAGE", "c++" if name == "cpp" else name), ("SMALLEST", text)))
    return jails.run(("sh", "-c", _FIND, "sh", *language.compilers), policy)


def build(jails: Opener, language: Language, tool: str, source: bytes) -> dict[str, bytes]:
    """The files of a jail in which `language.run` runs the program; Unbuilt when it cannot be compiled."""
    if not language.compiled:
        return {language.source: source}
    command = ("sh", "-c", _BUILD, "sh", f"/job/{language.source}", tool, *language.options)
    result = jails.run(command, Policy(BUILD_LIMITS), files={language.source: source})
    finding = jail_finding(result, "quick")
    if finding is None and result.status is not JailStatus.ok:
        text = result.stderr.decode(errors="replace")
        finding = Finding("fail", "quick", "compile_error", text or result.detail)
    if finding is not None:
        raise Unbuilt(finding)
    return {PROGRAM: result.stdout}
