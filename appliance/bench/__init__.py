"""Benchmarks: figures that docs may quote, each printed by a shipped command."""
