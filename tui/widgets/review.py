"""The panes of the Review screen: the queue, the submission, a sibling beside it, and what is known of both.

Everything a candidate wrote is shown with its invisible characters written out, and wrapped.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.content import Content

from appliance.clean import clean_line
from appliance.reviews import Sight
from appliance.siblings import Sibling, difference, normal, safe_lines
from appliance.tui.keys import KEYS
from appliance.tui.widgets.header import clock_time, draw_mode
from appliance.tui.widgets.pane import DIM, Drawing, Lines, View


@dataclass(frozen=True, slots=True)
class Reviewing:
    """One moment of the Review screen."""

    items: tuple[Mapping[str, Any], ...] = ()
    """What waits for this reviewer, in order."""
    place: int = 0
    """Of the chosen item."""
    sight: Sight | None = None
    statement: str = ""
    sibling: int = 0
    normal: bool = False
    """Show normal forms side by side; else the submission as it stands and the difference."""
    scroll: int = 0
    may_decide: bool = False
    message: str = ""

    @property
    def beside(self) -> Sibling | None:
        """The sibling that is shown."""
        known = self.sight.siblings if self.sight else ()
        return known[self.sibling % len(known)] if known else None


def _of(view: View) -> Reviewing:
    return view.review or Reviewing()


def draw_header(view: View, width: int, height: int) -> Lines:
    """How much waits on the left; mode and time of the data on the right."""
    waits = len(_of(view).items)
    right = Content.assemble(draw_mode(view), f" · data {clock_time(view.snapshot.time)} ")
    left = Content.assemble((" appliance", "bold"), f" review · {waits} waiting for you")
    left = left.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
    return [Content.assemble(left, " " * max(1, width - left.cell_length - right.cell_length), right)]


def draw_message(view: View, width: int, height: int) -> Lines:
    """What to do now; below it what the last key did."""
    review = _of(view)
    if view.trouble:
        return [f" store: {clean_line(view.trouble)}"]
    told = Content.styled(f" {clean_line(review.message)}", "bold")
    if review.sight is None:
        return [" nothing waits for you; the queue fills while a run goes, or: appliance review next", told]
    words = ", ".join(f"{key.shown} {key.label}" for key in KEYS if key.name == "decide")
    asked = words if review.may_decide else "read-only"
    return [f" item {review.sight.item} · {review.sight.stage}: {asked}", told]


def draw_queue(view: View, width: int, height: int) -> Lines:
    """The items around the chosen one: number, task and when it came; nothing that tells why it is here."""
    review = _of(view)
    if not review.items:
        return [Content.styled(" none", DIM)]
    first = max(0, min(review.place - height // 2, len(review.items) - height))
    lines = []
    for place, item in enumerate(review.items[first : first + height], start=first):
        mark = "▶" if place == review.place else " "
        text = f"{mark}{item['id']:>4} {clean_line(item['task_key']):<24} {clock_time(item['created'])}"
        lines.append(Content.styled(text, "bold" if place == review.place else ""))
    return lines


def draw_task(view: View, width: int, height: int) -> Lines:
    """The statement while blind; then the verdict and its evidence."""
    review = _of(view)
    if review.sight is None:
        return [Content.styled(" n/a", DIM)]
    if review.sight.evidence is None:
        return _window(_prose(review.statement, width - 1), height, review.scroll)
    lines = evidence_lines(review.sight.evidence, review.beside)
    return _window(_prose("\n".join(lines), width - 1), height, review.scroll)


def evidence_lines(evidence: Mapping[str, Any], beside: Sibling | None) -> list[str]:
    """What the reviewer may see after the blind verdict, the most important first."""
    lines = [f"judged {evidence['status']}, reward {evidence['reward']}"]
    if beside is not None:
        fates = evidence["siblings"].get(beside.label, ())
        lines.append(f"sibling {beside.label}: {', '.join(str(fate['status']) for fate in fates)}")
    lines += [f"{reason['source']}: {reason['why']}" for reason in evidence["sources"]]
    lines += [f"uid {said['uid']} ({said['stage']}): {said['word']}" for said in evidence["opinions"]]
    lines += ["judged again since it was put here"] if evidence["judged_again"] else []
    closed = [name for name, is_open in (evidence["gates"] or {}).items() if not is_open]
    lines += [f"closed gates: {', '.join(closed)}"] if closed else []
    lines += [f"{name} {signal['value']:.2f}" for name, signal in (evidence["signals"] or {}).items()]
    lines += [json.dumps(found) for found in evidence["evidence"] or ()]
    return [clean_line(line) for line in [*lines, str(evidence["attempt"])]]


def draw_submission(view: View, width: int, height: int) -> Lines:
    """The submission, as it stands or in normal form."""
    review = _of(view)
    if review.sight is None:
        return [Content.styled(" n/a", DIM)]
    files = normal(review.sight.files) if review.normal else review.sight.files
    return _window(_file_lines(files, width - 1), height, review.scroll)


def sibling_title(view: View) -> str:
    """Which sibling, how often, and what is shown of it."""
    review, beside = _of(view), _of(view).beside
    if review.sight is None or beside is None:
        return "siblings"
    how = "normal form" if review.normal else "difference"
    place, count = review.sibling % len(review.sight.siblings) + 1, len(review.sight.siblings)
    return f"sibling {beside.label} {place}/{count} · {len(beside.members)}x · {how}"


def draw_sibling(view: View, width: int, height: int) -> Lines:
    """The difference to the sibling, or its normal form."""
    review, beside = _of(view), _of(view).beside
    if review.sight is None or beside is None:
        return [Content.styled(" none: nobody else of the group handed anything in", DIM)]
    if review.normal:
        return _window(_file_lines(normal(beside.files), width - 1), height, review.scroll)
    if beside.same:
        return [Content.styled(" in normal form the same as the submission", DIM)]
    lines = safe_lines("\n".join(difference(review.sight.files, beside.files)), width - 1)
    return _window(lines, height, review.scroll)


def _file_lines(files: Mapping[str, str], width: int) -> list[str]:
    """All files in lines; names only where there are several."""
    lines: list[str] = []
    for name, text in sorted(files.items()):
        lines += [f"--- {clean_line(name)}"] if len(files) > 1 else []
        lines += safe_lines(text, width)
    return lines


def _prose(text: str, width: int) -> list[str]:
    """Safe lines, broken between words."""
    wide = max(8, width)
    wrapped = (textwrap.wrap(line, wide, replace_whitespace=False) or [""] for line in safe_lines(text))
    return [part for parts in wrapped for part in parts]


def _window(lines: list[str], height: int, scroll: int) -> list[str]:
    """The lines from `scroll` on, but always as many as fit; the last one says how many are missing."""
    start = max(0, min(scroll, len(lines) - height))
    shown = [f" {line}" for line in lines[start:]]
    if len(shown) <= height or height < 2:
        return shown
    return [*shown[: height - 1], f" and {len(shown) - height + 1} more lines (J and K scroll)"]


def task_title(view: View) -> str:
    """What the pane holds now."""
    sight = _of(view).sight
    return "evidence" if sight and sight.evidence is not None else "task"


HEADER = Drawing(lambda view: "", draw_header)
MESSAGE = Drawing(lambda view: "", draw_message)
QUEUE = Drawing(lambda view: "queue", draw_queue)
TASK = Drawing(task_title, draw_task)
SUBMISSION = Drawing(
    lambda view: "submission, normal form" if _of(view).normal else "submission", draw_submission
)
SIBLING = Drawing(sibling_title, draw_sibling)
