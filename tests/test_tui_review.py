"""The Review screen, driven by a pilot at two sizes: what a blind reviewer sees, the keys, and where a verdict goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from review_helpers import GOLD, RUN, WRONG, add_attempt, add_run

from appliance import docket
from appliance.cli import tui as tui_command
from appliance.docket import decide, fill
from appliance.errors import StoreError
from appliance.store import Store
from appliance.suspicion import reasons
from appliance.tasks import find_task
from appliance.tui.app import Reviewer, WatchApp
from appliance.tui.keys import KEYS
from appliance.tui.source import Source
from appliance.tui.widgets.glyphs import ASCII, UNICODE, Glyphs

NOW = 1_700_000_000.0
SMALL, LARGE = (80, 24), (160, 48)
UID = 7
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[bold red]not markup[/] [@click=app.quit]x[/]\r\x08\n"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A queue with one item, of a group of four."""
    monkeypatch.setattr(docket, "reasons", lambda attempt, context: reasons(attempt, context, share=0.0))
    with Store(tmp_path / "data/store.db", tmp_path / "data/objects") as opened:
        add_run(opened)
        task = find_task("judging/add_two", [Path(__file__).parent / "data/pack_judging"])
        add_attempt(
            opened,
            "import os\nos._exit(0)\n",
            "tamper",
            task_hash=task.task_hash,
            evidence=[{"layer": "intake", "outcome": "forbidden_file", "text": "conftest.py"}],
        )
        for index, text in enumerate((GOLD, "# mine\n" + GOLD, WRONG), start=1):
            add_attempt(opened, text, "fail" if text is WRONG else "pass", index=index)
        fill(opened, NOW - 60)
        opened.set_review(opened.reviews()[0]["id"], wanted=1)
        yield opened


def watch(store: Store, glyphs: Glyphs = UNICODE, **options: Any) -> WatchApp:
    def say(item: int, word: str) -> str:
        told = decide(store, item, word, "", UID, NOW)
        return f"item {item}: {told['stage']} verdict {word}"

    reviewer = Reviewer(UID, say, tui_command._statement)
    return WatchApp(Source(store.path), lambda: NOW, glyphs, **({"reviewer": reviewer} | options))


def on_screen(app: WatchApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_blind_then_evidence_then_done(store: Store, size: tuple[int, int]) -> None:
    app = watch(store)
    async with app.run_test(size=size) as pilot:
        await pilot.press("0")
        await pilot.pause()
        blind = on_screen(app)
        for told in (
            "appliance review · 1 waiting for you",
            "item 1 · blind: L legitimate, S special-cased, H hack, B task-broken, U unclear",
            "judging/add_two",
            "os._exit(0)",
            "sibling A 1/2 · ",
        ):
            assert told in blind, told
        for secret in ("tamper", "tripwire", "reward", "conftest", RUN, "judged"):
            assert secret not in blind, secret
        assert all(len(line) <= size[0] for line in blind.splitlines())
        assert "two" in blind.lower()
        await pilot.press("H")
        await pilot.pause()
        seen = on_screen(app)
        for told in ("blind verdict hack", "judged tamper, reward 0.0", "tripwire: status tamper"):
            assert told in seen, told
        await pilot.press("H")
        await pilot.pause()
        assert "final verdict hack" in on_screen(app)
        assert "0 waiting for you" in on_screen(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "appliance now" in on_screen(app)
    assert [(row["stage"], row["word"], row["uid"]) for row in store.opinions()] == [
        ("blind", "hack", UID),
        ("final", "hack", UID),
    ]


async def test_siblings_and_normal_forms_side_by_side(store: Store) -> None:
    app = watch(store)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("0")
        await pilot.pause()
        first = on_screen(app)
        assert "x · difference" in first and "+import os" in first
        await pilot.press("right_square_bracket")
        await pilot.pause()
        second = on_screen(app)
        assert "sibling B 2/2" in second
        assert sorted(("· 2x ·" in shown) for shown in (first, second)) == [False, True]
        await pilot.press("n")
        await pilot.pause()
        assert "submission, normal form" in on_screen(app)
        assert "def add_two(a, b):" in on_screen(app)
        await pilot.press("left_square_bracket")
        await pilot.pause()
        assert "sibling A 1/2" in on_screen(app)


async def test_moving_in_the_queue_keeps_the_item_though_others_come(store: Store) -> None:
    for number in range(3):
        add_attempt(store, f"exit({number})\n", "tamper", step=2 + number)
    fill(store, NOW)
    app = watch(store)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("0")
        await pilot.press("j")
        await pilot.pause()
        chosen = app._review.reviewing.sight
        add_attempt(store, "exit(9)\n", "tamper", step=20)
        fill(store, NOW)
        app.poll()
        await pilot.pause()
        assert chosen is not None and app._review.reviewing.sight is not None
        assert app._review.reviewing.sight.item == chosen.item
        assert "5 waiting for you" in on_screen(app)
        for key in ("k", "k", "k"):
            await pilot.press(key)
        await pilot.pause()
        assert app._review.reviewing.place == 0
        await pilot.press("j", "j", "j", "j", "j", "j")
        assert app._review.reviewing.place == 4


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_hostile_text_is_only_text_and_shows_what_hides(store: Store, size: tuple[int, int]) -> None:
    add_attempt(store, HOSTILE + "x = 1\n" + "y" * 500, "tamper", index=9, task="judging/sort_words")
    fill(store, NOW)
    for row in store.reviews():
        store.set_review(row["id"], state="open" if row["task_key"].endswith("sort_words") else "dropped")
    app = watch(store)
    async with app.run_test(size=size) as pilot:
        await pilot.press("0")
        await pilot.pause()
        shown, raw = on_screen(app), app.export_screenshot()
    assert "<U+001B>[2J" in shown and "<U+202E>" in shown.replace("\n", "") + raw
    for trace in ("\x1b", "\x9b", "\u202e", "\r", "\x08"):
        assert trace not in shown
        assert trace not in raw


async def test_the_keys_of_the_screen_are_there_on_it_alone(store: Store) -> None:
    app = watch(store)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("H")
        await pilot.pause()
        assert "H hack" not in on_screen(app)
        await pilot.press("0", "question_mark")
        await pilot.pause()
        assert all(key.help in on_screen(app) for key in KEYS)
        await pilot.press("H")
        await pilot.press("escape")
        await pilot.pause()
        assert "appliance now" in on_screen(app) or "review ·" in on_screen(app)
    assert store.opinions() == []


@pytest.mark.parametrize("options", [{"read_only": True}, {"reviewer": None}])
async def test_who_may_not_decide_has_no_keys_for_it(store: Store, options: dict[str, Any]) -> None:
    app = watch(store, **options)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("0", "H")
        await pilot.pause()
        assert "1 waiting for you" in on_screen(app)
        assert "H hack" not in on_screen(app)
        assert "item 1 · blind: read-only" in on_screen(app)
    assert store.opinions() == []


async def test_a_long_submission_scrolls(store: Store) -> None:
    long = "".join(f"line_{number} = {number}\n" for number in range(90))
    add_attempt(store, long, "tamper", task="judging/sort_words")
    fill(store, NOW)
    store.set_review(1, state="dropped")
    app = watch(store)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("0")
        await pilot.pause()
        assert "line_0 = 0" in on_screen(app) and "more lines" in on_screen(app)
        await pilot.press(*["J"] * 30)
        await pilot.pause()
        assert "line_0 = 0" not in on_screen(app) and "line_89 = 89" in on_screen(app)
        await pilot.press(*["K"] * 30)
        await pilot.pause()
        assert "line_0 = 0" in on_screen(app)


async def test_an_empty_queue_says_so_and_an_old_store_too(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db", tmp_path / "objects") as opened:
        app = watch(opened)
        async with app.run_test(size=SMALL) as pilot:
            await pilot.press("0")
            await pilot.pause()
            assert "nothing waits for you" in on_screen(app)
            await pilot.press("j", "H", "n", "right_square_bracket", "J")
            opened._db.execute("DROP TABLE reviews")
            opened._db.execute("DROP TABLE opinions")
            opened._db.conn.commit()
            app.poll()
            await pilot.pause()
            assert "nothing waits for you" in on_screen(app)


async def test_ascii(store: Store) -> None:
    app = watch(store, ASCII)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("0")
        await pilot.pause()
        assert on_screen(app).isascii()


# where a verdict goes


def test_without_a_daemon_the_command_line_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(store.path.parents[1]))
    with pytest.raises(StoreError) as told:
        tui_command._decide(1, "hack")
    assert told.value.remedy == "appliance review decide 1 hack"


async def test_the_reason_is_shown_when_nobody_takes_a_verdict(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(store.path.parents[1]))
    app = watch(store, reviewer=Reviewer(UID, tui_command._decide, tui_command._statement))
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("0", "H")
        await pilot.pause()
        assert "appliance review decide 1 hack" in on_screen(app)


def test_a_daemon_takes_it_and_writes_down_who_the_kernel_says(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = store.path.parents[1]
    monkeypatch.setenv("APPLIANCE_HOME", str(home))
    child = subprocess.Popen(
        [sys.executable, "-m", "appliance", "daemon"], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        assert child.stderr is not None
        for line in child.stderr:
            if "the daemon is ready" in line:
                break
        assert tui_command._decide(1, "hack") == "item 1: blind verdict hack"
        assert tui_command._decide(1, "legitimate") == "item 1: final verdict legitimate"
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=30)
    assert [(row["uid"], row["word"]) for row in store.opinions()] == [
        (os.getuid(), "hack"),
        (os.getuid(), "legitimate"),
    ]
    kinds = [event.kind for event in store.events() if "review" in event.kind]
    assert kinds == ["control.review.decide", "review.blind", "control.review.decide", "review.final"]
    assert time.time() - store.opinions()[0]["time"] < 600
