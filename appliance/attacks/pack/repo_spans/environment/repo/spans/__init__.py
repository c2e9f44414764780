"""Spans of time as people write them."""

from spans.errors import SpanError
from spans.parse import is_span, parse, total
from spans.render import render
from spans.window import Window

__all__ = ["SpanError", "Window", "is_span", "parse", "render", "total"]
