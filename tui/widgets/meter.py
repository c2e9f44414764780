"""A share as a bar of characters."""

from __future__ import annotations

from appliance.tui.widgets.glyphs import Glyphs


def meter(done: float, total: float, width: int, glyphs: Glyphs) -> str:
    """Draw `done` of `total` as a bar of `width`; it is full only when all is done, empty only at none."""
    if total <= 0 or width <= 0:
        return glyphs.bar[1] * max(width, 0)
    filled = int(width * max(0.0, min(1.0, done / total)))
    if done > 0 and filled == 0:
        filled = 1
    return glyphs.bar[0] * filled + glyphs.bar[1] * (width - filled)
