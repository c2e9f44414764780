"""What is being worked on: attempts of this step, groups by what they teach, jails and queue."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from appliance.clean import clean_line
from appliance.narrate import NOTHING
from appliance.reads import number
from appliance.tui.widgets.meter import meter
from appliance.tui.widgets.pane import DIM, NO_DATA, Drawing, Lines, View
from appliance.tui.widgets.sparkline import Values, sparkline

LABEL = 10
STRIP_GROUPS = 24


def draw(view: View, width: int, height: int) -> Lines:
    """Three lines; with room for more, how the dead groups developed."""
    lines = [_attempts(view, width), _groups(view), _jails(view)]
    if height >= 5:
        lines += [
            _history(view, "all-fail", "dead_fail", width),
            _history(view, "all-pass", "dead_pass", width),
        ]
    return lines


def _label(name: str) -> tuple[str, str]:
    return (f" {name}".ljust(LABEL), "bold")


def _ended(view: View) -> bool:
    """What the live row of an ended run says is no longer true."""
    run = view.snapshot.run
    return run is not None and run["state"] != "running"


def _attempts(view: View, width: int) -> Content:
    if _ended(view):
        state = view.snapshot.run["state"] if view.snapshot.run else ""
        why = f"the run is {state}" if state in ("queued", "paused") else "the run has ended"
        return Content.assemble(_label("attempts"), (f"none: {why}", DIM))
    live = view.snapshot.live
    done, total = number(live.get("attempts_done")), number(live.get("attempts_total"))
    if done is None or total is None:
        why = "n/a in this stage" if live else f"{NO_DATA}: no attempt was started"
        return Content.assemble(_label("attempts"), (why, DIM))
    told = f"  {done:.0f} of {total:.0f}"
    return Content.assemble(_label("attempts"), meter(done, total, min(48, width - 30), view.glyphs), told)


def _groups(view: View) -> Content:
    """The groups of the last update: a letter each, then counts; all-fail and all-pass teach nothing."""
    last = view.snapshot.last
    groups, fail, full = (number(last.get(name)) for name in ("groups", "dead_fail", "dead_pass"))
    if groups is None or fail is None or full is None:
        opened = sum(view.snapshot.groups.values())
        why = f"{opened} open, none of an update closed yet" if opened else f"{NO_DATA}: no update is done"
        return Content.assemble(_label("groups"), (why, DIM))
    mixed = max(0, int(groups - fail - full))
    parts: list[Content | str | tuple[str, str]] = [_label("groups")]
    if groups <= STRIP_GROUPS:
        parts += [
            ("F" * int(fail), "$text-error"),
            ("m" * mixed, "$text-success"),
            ("P" * int(full), "$text-warning"),
            "  ",
        ]
    parts += [f"{fail:.0f} all-fail (F)  {mixed} mixed (m)  {full:.0f} all-pass (P)"]
    parts += [(f"  update {view.snapshot.updates[-1]['step']}", DIM)]
    return Content.assemble(*parts)


def _jails(view: View) -> Content:
    live = view.snapshot.live
    jails, masked = number(live.get("jails")), number(view.snapshot.last.get("masked"))
    told = f"{jails:.0f} live" if jails is not None else NOTHING
    told = "none   queue: none" if _ended(view) else f"{told}   queue: {_queue(live.get('queue'))}"
    lost = "" if masked is None else f"   lost to host faults: {masked:.0f}"
    return Content.assemble(_label("jails"), f"{told}{lost}")


def _queue(queue: object) -> str:
    if isinstance(queue, Mapping):
        deep = [f"{clean_line(str(name), 20)} {count}" for name, count in queue.items() if number(count)]
        return ", ".join(deep) or "none"
    depth = number(queue)
    return NOTHING if depth is None else f"{depth:.0f}"


def _history(view: View, name: str, metric: str, width: int) -> Content:
    """Share of the groups that taught nothing, per update, from 0 to all."""
    values: Values = [
        dead / groups if dead is not None and groups else None
        for dead, groups in zip(view.snapshot.metric(metric), view.snapshot.metric("groups"), strict=True)
    ]
    if not values:
        return Content.assemble(_label(name), (f"{NO_DATA}: no update is done", DIM))
    known = [value for value in values if value is not None]
    room = width - LABEL - 22
    told = f"  {100 * sum(known) / len(known):.0f} % of groups" if known else ""
    drawn = sparkline(values, room, 1, view.glyphs, low=0.0, high=1.0)[0]
    return Content.assemble(_label(name), drawn, told)


WORK = Drawing(lambda view: "attempts, groups, jails", draw)
