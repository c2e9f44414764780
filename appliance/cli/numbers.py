"""Kinds of numbers on the command line."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range that `nan` is not in, though it is neither below nor above it."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        number = super().convert(value, param, context)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be measured against.", param, context)
        return number
