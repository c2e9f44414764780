"""Progress of a run: plain lines when nobody watches, a live view on a terminal, hostile text harmless in both."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from typing import Any

from appliance.cli.progress import Progress, fold, progress, render
from appliance.narrate import LINE_LIMIT, LINES, narrate
from appliance.tui.widgets.glyphs import ASCII, UNICODE

EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("base.preparing", {"text": "dequantising"}),
    ("run.started", {"seed": 3, "base": "b"}),
    ("evaluation.started", {"step": 0, "tasks": 20, "attempts": 8}),
    ("stage", {"step": 0, "stage": "sample"}),
    ("live", {"stage": "sample", "attempts_done": 80, "attempts_total": 160}),
    ("evaluation.done", {"step": 0, "pass_rate": 0.25, "seconds": 3.0}),
    ("update.started", {"step": 1, "updates": 9}),
    ("stage", {"step": 1, "stage": "sample"}),
    ("live", {"stage": "sample", "attempts_done": 16, "attempts_total": 64}),
    (
        "update.done",
        {"step": 1, "reward_mean": 0.5, "groups": 8, "dead_fail": 2, "dead_pass": 1, "seconds": 9.5},
    ),
    ("checkpoint.saved", {"step": 1}),
]


def after(events: list[tuple[str, dict[str, Any]]]) -> Progress:
    known = Progress()
    for kind, data in events:
        known = fold(known, kind, data)
    return known


def test_plain_lines_one_per_stage_and_no_escapes() -> None:
    stream = io.StringIO()
    with progress(stream, clock=lambda: 0.0) as listen:
        for kind, data in [*EVENTS, ("run.failed", {"error": "\x1b[31mdisk\nfull"})]:
            listen(kind, data)
    lines = [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]
    assert lines == [
        "base: dequantising",
        "run started with seed 3 on base b",
        "evaluation before the first update: 20 tasks, 8 attempts each",
        "step 0: sample",
        "held out 25.0 % before the first update (3.0 s)",
        "step 1: sample",
        "update 1: reward 0.50; 8 groups, 2 all-fail, 1 all-pass (9.5 s)",
        "run failed: disk full",
    ]


def test_plain_lines_fit_the_encoding_of_the_stream() -> None:
    raw = io.BytesIO()
    with progress(io.TextIOWrapper(raw, encoding="ascii"), clock=lambda: 0.0) as listen:
        listen("base.preparing", {"text": "größe → 漢"})
        assert raw.getvalue().endswith(b"base: gr??e ? ?\n")


def test_the_view_shows_where_the_run_is() -> None:
    shown = render(after(EVENTS[:-2]), elapsed=75.0, width=100, glyphs=UNICODE).plain.splitlines()
    assert shown[0].startswith("update 1 of 9  [sample] judge  learn  publish ")
    assert shown[0].endswith("1 min 15 s")
    assert shown[1].endswith("16 of 64")
    assert shown[2] == "held out  25.0 %"
    assert "0.50" in render(after(EVENTS), elapsed=75.0, width=100, glyphs=UNICODE).plain


def test_the_view_fits_its_width_and_folds_to_ascii() -> None:
    known = after([*EVENTS, ("evaluation.done", {"pass_rate": 0.5})])
    for width in (10, 40, 80):
        assert all(len(line) < width for line in render(known, 0.0, width, UNICODE).plain.splitlines())
    assert render(known, 0.0, 80, ASCII).plain.isascii()


def test_a_new_phase_forgets_the_attempts_of_the_last() -> None:
    known = after([*EVENTS, ("update.started", {"step": 2, "updates": 9})])
    assert (known.stage, known.done, known.total) == ("", 0.0, 0.0)


def test_every_line_is_clean_short_and_survives_missing_fields() -> None:
    hostile = "\x1b]0;t\x07\x1b[2J\u202eevil\r\n" * 200
    for kind in [*LINES, "some.other"]:
        names = (
            "text",
            "error",
            "stage",
            "step",
            "base",
            "seed",
            "updates",
            "tasks",
            "groups",
            "minutes",
            "x",
        )
        for data in ({}, dict.fromkeys(names, hostile)):
            line = narrate(kind, data)
            assert line.isprintable()
            assert 0 < len(line) <= LINE_LIMIT


SHOW = """
import sys
from appliance.cli.progress import progress
with progress() as listen:
    listen("run.started", {"seed": 1, "base": "b"})
    listen("update.started", {"step": 1, "updates": 9})
    listen("live", {"stage": "sample", "attempts_done": 1, "attempts_total": 64})
    listen("strange", {"text": "\\x1b]52;c;AAAA\\x07shown"})
print("the result")
"""


def test_on_a_terminal_it_draws_on_stderr_and_leaves_stdout_alone() -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "LANG": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], stdout=subprocess.PIPE, stderr=theirs, env=environment, check=True
    )
    os.close(theirs)
    drawn = b""
    try:
        while piece := os.read(ours, 65536):
            drawn += piece
    except OSError:  # the other end of a pseudo-terminal closed
        pass
    os.close(ours)
    assert done.stdout == b"the result\n"
    assert b"1 of 64" in drawn
    assert b"strange text=shown" in drawn
    assert b"\x1b]52" not in drawn
