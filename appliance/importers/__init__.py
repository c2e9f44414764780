"""Importers: one file per foreign format. What is imported is read as data: never executed, never unpickled."""
