"""The composition root: the parts of a run, started and stopped together."""
