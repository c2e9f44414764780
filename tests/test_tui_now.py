"""The Now screen, driven by a pilot at two sizes: what it shows, what it says when there is nothing, its keys."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from appliance.cli.tui import command
from appliance.errors import NotFoundError, UsageError
from appliance.nouns import Attempt, Sampling, Segment, Verdict
from appliance.store import Store
from appliance.tui.app import WatchApp
from appliance.tui.keys import KEYS
from appliance.tui.screens.help import help_text
from appliance.tui.source import Source
from appliance.tui.widgets.glyphs import ASCII, UNICODE, Glyphs, glyphs_for
from appliance.tui.widgets.meter import meter
from appliance.tui.widgets.sparkline import sparkline

NOW = 1_700_000_000.0
RUN = "starter-s0"
SMALL, LARGE = (80, 24), (160, 48)
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[bold red]not markup[/] [@click=app.quit]x[/]\r\x08"
SHOWN = "[bold red]not markup[/] [@click=app.quit]x[/]"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        yield opened


def fill(store: Store, *, updates: int = 12) -> None:
    """A run in the middle of an update, last heard of a second before NOW."""
    store.add_run(RUN, created=NOW - 600, seed=0, recipe={"grpo": {"updates": 20}}, folder=store.path.parent)
    store.append_event(NOW - 590, RUN, "run.started", 0, {"seed": 0, "base": "tiny"})
    evaluation = {"created": NOW - 580, "by_task": {}, "policy_version": "b", "seconds": 9.0}
    store.add_evaluation(RUN, 0, evaluation | {"pass_rate": 0.275})
    for step in range(1, updates + 1):
        metrics = {
            "reward_mean": 0.2 + 0.03 * step,
            "groups": 8,
            "dead_fail": 3,
            "dead_pass": 1,
            "attempts": 64,
            "masked": 0,
            "truncated": 2,
            "sample_s": 11.5,
            "judge_s": 0.5,
            "learn_s": 8.0,
            "swap_s": 0.03,
            "entropy": 1.5,
        }
        store.add_update(RUN, step, NOW - 570 + 20 * step, 20.0, metrics)
        store.append_event(
            NOW - 550 + 20 * step, RUN, "update.done", 0, {"step": step, "seconds": 20.0, **metrics}
        )
    store.append_event(NOW - 5, RUN, "update.started", 0, {"step": updates + 1, "updates": 20})
    store.append_event(NOW - 5, RUN, "stage", 0, {"step": updates + 1, "stage": "sample"})
    live = {"stage": "sample", "attempts_done": 41, "attempts_total": 64, "jails": 2, "queue": {"judge": 3}}
    store.set_live(RUN, NOW - 1, live)


def add_attempt(
    store: Store, text: str, *, task_key: str = "starter/total", created: float = NOW - 2
) -> None:
    attempt = Attempt(
        id=f"{RUN}/{created}",
        run_id=RUN,
        group_id="g",
        step=13,
        purpose="train",
        task_key=task_key,
        task_hash="a",
        index=0,
        harness="complete",
        policy_version="b",
        engine_build="e",
        seed=1,
        sampling=Sampling(),
        segments=(Segment("prompt", (1,)), Segment("sampled", (2, 3), (-0.1, -0.2), "b")),
        stop_reason="stop",
        artefacts={"solution.py": text},
    )
    store.add_attempt(attempt, text, created)
    store.set_verdict(attempt.id, Verdict(task_key, "fail", 0.25, {}, {}, (), (), {}, "a", "b", "c"))


def watch(path: Path, glyphs: Glyphs = UNICODE, **options: Any) -> WatchApp:
    return WatchApp(Source(path), lambda: NOW, glyphs, **options)


def on_screen(app: WatchApp) -> str:
    """What a person sees, as lines of text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def picture(app: WatchApp, size: tuple[int, int], *keys: str) -> str:
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        return on_screen(app)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_live_run_is_told_whole(store: Store, size: tuple[int, int]) -> None:
    fill(store)
    add_attempt(store, "    return sum(values)")
    shown = await picture(watch(store.path), size)
    for told in (
        f"appliance now · {RUN} · running",
        "LIVE · data ",
        " LEARNING  reward rose by 0.150 over the last 10 updates",
        "update 13 of 20 · slowest: sample · in sample for 5 s",
        "▶sample 11.5s 57%",
        "judge 0.50s",
        "learn 8.0s 40%",
        "publish 0.03s",
        "0.23 → 0.56  best 0.56",
        "held out",
        "27.5 %",
        "41 of 64",
        "FFFmmmmP  3 all-fail (F)  4 mixed (m)  1 all-pass (P)",
        "2 live   queue: judge 3",
        "update 12: reward 0.56; 8 groups, 3 all-fail, 1 all-pass (20.0 s)",
        "newest attempt · fail · reward 0.25 · starter/total · train",
        "    return sum(values)",
        "q quit",
        "? help",
    ):
        assert told in shown, told
    assert shown.count("update ") >= 5
    assert all(len(line) <= size[0] for line in shown.splitlines())
    assert ("entropy" in shown) == (size == LARGE)


@pytest.mark.parametrize("size", [SMALL, LARGE, (40, 12), (20, 5)])
async def test_an_empty_store_says_why_each_pane_is_empty(store: Store, size: tuple[int, int]) -> None:
    shown = await picture(watch(store.path), size)
    if size in (SMALL, LARGE):
        assert "no run in this store yet; start one with: appliance train RECIPE" in shown
        for reason in ("the first update is not done", "no attempt was started", "nothing has happened"):
            assert f"no data yet: {reason}" in shown
        assert "jails    n/a   queue: n/a" in shown


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_hostile_text_is_only_text_wherever_it_comes_from(store: Store, size: tuple[int, int]) -> None:
    fill(store)
    add_attempt(store, HOSTILE + "second line", task_key="p/\x1b[31mred")
    store.append_event(NOW - 1, RUN, "odd.kind", 0, {"text": HOSTILE})
    store.set_live(RUN, NOW - 1, {"stage": "sample\x1b[0m" + HOSTILE, "queue": {HOSTILE: 3}})
    app = watch(store.path)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = on_screen(app)
        raw = app.export_screenshot()
    assert shown.count(SHOWN) >= 2
    assert "p/red" in shown
    for trace in ("\x1b", "\x9b", "\u202e", "\r", "\x08", "owned"):
        assert trace not in shown
        assert trace not in raw


async def test_other_states_are_named_with_a_reason(store: Store) -> None:
    fill(store)
    store.append_event(NOW - 1, RUN, "run.failed", 0, {"error": "engine died"})
    store.set_run(RUN, state="failed", finished=NOW - 1)
    shown = await picture(watch(store.path), SMALL)
    assert " FAILED  engine died" in shown
    assert "▶" not in shown
    assert "attempts none: the run has ended" in shown
    assert "jails    none   queue: none" in shown
    store.set_run(RUN, state="finished")
    assert " FINISHED  after 12 updates" in await picture(watch(store.path), SMALL)


async def test_a_silent_run_is_down_though_nothing_moved(store: Store) -> None:
    fill(store)
    moment = [NOW]
    app = WatchApp(Source(store.path), lambda: moment[0], UNICODE)
    async with app.run_test(size=SMALL) as pilot:
        assert "LEARNING" in on_screen(app)
        moment[0] += 120
        app.poll()
        await pilot.pause()
        assert " DOWN  recorded as running, but silent for 2 min 1 s" in on_screen(app)


async def test_news_appear_and_freeze_holds_them_back(store: Store) -> None:
    fill(store)
    app = watch(store.path)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("p")
        add_attempt(store, "first text")
        app.poll()
        await pilot.pause()
        assert "FROZEN · data" in on_screen(app)
        assert "first text" not in on_screen(app)
        await pilot.press("r")
        await pilot.pause()
        assert "first text" in on_screen(app)
        assert "FROZEN" in on_screen(app)
        await pilot.press("p")
        add_attempt(store, "second text", created=NOW - 1)
        app.poll()
        await pilot.pause()
        assert "LIVE · data" in on_screen(app)
        assert "second text" in on_screen(app)


async def test_a_store_that_vanishes_is_told_and_the_last_view_stays(store: Store) -> None:
    fill(store)
    app = watch(store.path)
    async with app.run_test(size=LARGE) as pilot:
        store.path.rename(store.path.with_name("elsewhere.db"))
        app.poll()
        await pilot.pause()
        assert "store: " in on_screen(app)
        assert "FROZEN" in on_screen(app)
        assert "41 of 64" in on_screen(app)


async def test_an_immutable_view_is_frozen(store: Store, tmp_path: Path) -> None:
    fill(store)
    source = Source(store.path)
    source._reads.frozen = True
    source.moved = lambda: False  # type: ignore[method-assign]
    app = WatchApp(source, lambda: NOW, UNICODE, read_only=True)
    assert "read-only · FROZEN · data" in await picture(app, SMALL)


async def test_help_lists_every_key_and_rule_and_closes(store: Store) -> None:
    app = watch(store.path)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        shown = on_screen(app)
        assert "the first rule that holds" in shown
        assert all(key.help in shown for key in KEYS)
        for key in ("escape", "1"):
            await pilot.press(key)
            await pilot.pause()
            assert "the first rule that holds" not in on_screen(app)
            await pilot.press("f1")
            await pilot.pause()
            assert "the first rule that holds" in on_screen(app)


@pytest.mark.parametrize("keys", [["q"], ["ctrl+c"], ["f1", "q"], ["f1", "ctrl+c"]])
async def test_leaving(store: Store, keys: list[str]) -> None:
    app = watch(store.path)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
    assert app.return_code == 0
    assert not app.is_running


async def test_ascii_and_no_colour(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    add_attempt(store, "größe")
    shown = await picture(watch(store.path, ASCII), SMALL)
    assert shown.isascii()
    assert ">sample 11.5s" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = await picture(watch(store.path), SMALL)
    assert "LEARNING" in plain
    assert "FFFmmmmP" in plain


# the tables and the pure parts


def test_one_table_of_keys_without_a_clash() -> None:
    every = [name for key in KEYS for name in key.keys]
    assert len(every) == len(set(every))
    assert len({key.action for key in KEYS}) == len(KEYS)
    assert all(hasattr(WatchApp, f"action_{key.action.split('(')[0]}") for key in KEYS)
    bound = {name for binding in WatchApp.BINDINGS for name in binding.key.split(",")}  # type: ignore[union-attr]
    assert bound == set(every)
    assert all(key.help in help_text().plain for key in KEYS)


@pytest.mark.parametrize(
    ("values", "width", "wanted"),
    [
        ([0.0, 0.5, 1.0], 3, "▁▄█"),
        ([0.0, None, 1.0], 5, "▁·█"),
        ([1.0, 1.0], 5, "▄▄"),
        ([0.0, 0.0], 5, "▁▁"),
        ([0.0, 0.0, 1.0, 1.0], 2, "▁█"),
        ([], 5, ""),
        ([1.0], 0, ""),
    ],
)
def test_sparkline(values: list[float | None], width: int, wanted: str) -> None:
    flat = len(set(values)) == 1 and len(values) == 2
    low, high = (values[0], values[0]) if flat else (0.0, 1.0)
    assert low is not None and high is not None
    assert sparkline(values, width, 1, UNICODE, low=low, high=high) == [wanted]


def test_a_tall_sparkline_stacks_rows() -> None:
    assert sparkline([0.0, 1.0, None], 3, 2, UNICODE, low=0.0, high=1.0) == [" █ ", "▁█·"]


@pytest.mark.parametrize(
    ("done", "wanted"), [(0, "░░░░"), (1, "█░░░"), (50, "██░░"), (99, "███░"), (100, "████")]
)
def test_meter_is_full_only_when_all_is_done(done: float, wanted: str) -> None:
    assert meter(done, 100, 4, UNICODE) == wanted
    assert meter(done, 0, 4, UNICODE) == "░░░░"


def test_glyphs_follow_the_terminal() -> None:
    assert glyphs_for("utf-8", {"TERM": "xterm"}) is UNICODE
    assert glyphs_for("UTF-8", {"TERM": "linux"}) is ASCII
    assert glyphs_for("ANSI_X3.4-1968", {}) is ASCII
    assert glyphs_for(None, {}) is ASCII


# the command


def test_the_command_refuses_what_it_cannot_open(store: Store, tmp_path: Path) -> None:
    runner = CliRunner()
    missing = runner.invoke(command, ["--store", str(tmp_path / "none.db")])
    assert isinstance(missing.exception, NotFoundError)
    unknown = runner.invoke(command, ["--store", str(store.path), "--run", "other"])
    assert isinstance(unknown.exception, NotFoundError)
    piped = runner.invoke(command, ["--store", str(store.path)])
    assert isinstance(piped.exception, UsageError)


def test_the_command_opens_draws_and_leaves_on_a_real_terminal(store: Store) -> None:
    """A pseudo-terminal of 80x24, the real process, the real key."""
    fill(store)
    arguments = ["--store", str(store.path), "--read-only"]
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    environment = os.environ | {"TERM": "xterm-256color", "LINES": "24", "COLUMNS": "80"}
    running = subprocess.Popen(
        [sys.executable, "-c", code, sys.executable, "-m", "appliance", "tui", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment | {"PYTHONIOENCODING": "utf-8"},
    )
    assert running.stdin is not None
    assert running.stdout is not None
    drawn = b""
    while b"quit" not in drawn and (piece := os.read(running.stdout.fileno(), 65536)):
        drawn += piece
    running.stdin.write(b"q")
    running.stdin.flush()
    rest = running.stdout.read()
    assert running.wait(timeout=60) == 0
    assert b"read-only" in drawn + rest
