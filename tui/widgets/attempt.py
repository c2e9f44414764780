"""The newest attempt: which task, what came of it, and the beginning of what the model wrote (cleaned)."""

from __future__ import annotations

from textual.content import Content

from appliance.clean import clean_line, clean_text
from appliance.reads import number
from appliance.tui.widgets.pane import DIM, NO_DATA, Drawing, Lines, View


def title(view: View) -> str:
    """Task, purpose, status, reward, tokens and why it ended."""
    attempt = view.snapshot.attempt
    if attempt is None:
        return "newest attempt"
    reward = number(attempt["reward"])
    worth = "" if reward is None else f" · reward {reward:.2f}"
    came = f"{attempt['status'] or 'not judged yet'}{worth}"
    made = f"{attempt['purpose']} · {attempt['sampled_tokens']} tokens, {attempt['stop_reason']}"
    return clean_line(f"newest attempt · {came} · {attempt['task_key']} · {made}")


def draw(view: View, width: int, height: int) -> Lines:
    """The first lines of the text; a last line says how many more there are."""
    attempt = view.snapshot.attempt
    if attempt is None:
        return [Content.styled(f" {NO_DATA}: no attempt was recorded", DIM)]
    lines = clean_text(attempt["text"] or "").expandtabs(4).split("\n")
    if not any(line.strip() for line in lines):
        return [Content.styled(" none: the model wrote only white space", DIM)]
    shown = [f" {line}" for line in lines]
    if len(shown) <= height or height < 2:
        return shown
    more = Content.styled(f" and {len(shown) - height + 1} more lines", DIM)
    return [*shown[: height - 1], more]


ATTEMPT = Drawing(title, draw)
