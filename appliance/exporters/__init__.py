"""Exporters: one file per foreign format."""
