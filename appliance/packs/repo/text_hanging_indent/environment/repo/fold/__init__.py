"""Folds text into lines."""

from fold.bullets import bullets
from fold.columns import columns
from fold.wrap import paragraphs, wrap

__all__ = ["bullets", "columns", "paragraphs", "wrap"]
