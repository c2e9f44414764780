"""Writing spans."""

from spans.units import UNITS


def render(seconds):
    """A span in its shortest form, such as `1h30m`; `0s` for nothing."""
    if seconds < 0:
        return "-" + render(-seconds)
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
