"""The task packs that ship: data, not code."""
