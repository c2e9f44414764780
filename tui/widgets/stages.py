"""The stage strip: sample, judge, learn, publish, with the seconds of the last update and where it is now."""

from __future__ import annotations

from textual.content import Content

from appliance.clean import clean_line
from appliance.reads import number
from appliance.tui.health import TIMES, duration
from appliance.tui.widgets.pane import DIM, Drawing, Lines, View

STAGES = ("sample", "judge", "learn", "publish")


def stage_seconds(view: View) -> list[float | None]:
    """Seconds of each stage in the last update."""
    return [number(view.snapshot.last.get(name)) for name in TIMES]


def current_stage(view: View) -> str:
    """The stage the run is in, empty when it is not running."""
    snapshot = view.snapshot
    if snapshot.run is None or snapshot.run["state"] != "running" or snapshot.stage is None:
        return ""
    return str(snapshot.live.get("stage") or snapshot.stage["data"].get("stage", ""))


def title(view: View) -> str:
    """Which update or evaluation, and the stage that took longest."""
    snapshot, seconds = view.snapshot, [value or 0.0 for value in stage_seconds(view)]
    parts = ["stages", _where(view)]
    if any(seconds):
        parts.append(f"slowest: {STAGES[seconds.index(max(seconds))]}")
    if (current := current_stage(view)) and snapshot.stage:
        parts.append(f"in {clean_line(current, 20)} for {duration(view.now - snapshot.stage['time'])}")
    return " · ".join(part for part in parts if part)


def _where(view: View) -> str:
    snapshot = view.snapshot
    if snapshot.run is None or snapshot.phase is None:
        return ""
    step = snapshot.phase["data"].get("step")
    if snapshot.evaluating:
        return "evaluation before the first update" if not step else f"evaluation after update {step}"
    planned = (snapshot.run["recipe"].get("grpo") or {}).get("updates")
    return clean_line(f"update {step}" + (f" of {planned}" if planned else ""))


def draw(view: View, width: int, height: int) -> Lines:
    """One cell per stage; on a second line, if there is one, the same times to scale."""
    seconds, now = stage_seconds(view), current_stage(view)
    whole = sum(value or 0.0 for value in seconds)
    cells = [
        _cell(name, value, whole, name == now, max(16, width // 4))
        for name, value in zip(STAGES, seconds, strict=True)
    ]
    lines: list[Content | str] = [Content("").join(cells)]
    if height > 1:
        lines.append(
            _scale(seconds, whole, width) if whole else "no update is done yet, so no times to compare"
        )
    return lines


def _cell(name: str, seconds: float | None, whole: float, current: bool, width: int) -> Content:
    time = "-" if seconds is None else f"{seconds:.{1 if seconds >= 1 else 2}f}s"
    share = f" {100 * seconds / whole:.0f}%" if seconds is not None and whole else ""
    mark, style = ("▶", "bold reverse") if current else (" ", "bold")
    return (
        Content.assemble((f"{mark}{name}", style), f" {time}", (share, DIM))
        .truncate(width - 1)
        .pad_right(max(0, width - len(f"{mark}{name} {time}{share}")))
    )


def _scale(seconds: list[float | None], whole: float, width: int) -> Content:
    parts, start, passed = [], 0, 0.0
    for place, (name, value) in enumerate(zip(STAGES, seconds, strict=True)):
        passed += value or 0.0
        end = round(passed / whole * width)
        if end > start:
            text = f"│{name}"[: end - start].ljust(end - start)
            parts.append(Content.styled(text, "reverse" if place % 2 == 0 else ""))
        start = end
    return Content("").join(parts)


STRIP = Drawing(title, draw)
