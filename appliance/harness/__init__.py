"""Harnesses: one file each; a harness turns a task and a policy into an attempt."""
