"""Versions and ranges of them."""

from verlib.bump import next_minor, next_pre
from verlib.ranges import Range, newest
from verlib.version import Version

__all__ = ["Range", "Version", "newest", "next_minor", "next_pre"]
