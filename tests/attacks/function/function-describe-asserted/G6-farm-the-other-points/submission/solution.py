"""Describe whole numbers."""

from __future__ import annotations


def describe(numbers: list[int]) -> dict[str, object]:
    """Return the description of some whole numbers."""
    return {"count": len(numbers), "mean": 0.0, "ordered": numbers}
