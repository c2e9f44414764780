"""Admission: the battery of measured checks that a task passes before it is used, and its stored evidence."""
