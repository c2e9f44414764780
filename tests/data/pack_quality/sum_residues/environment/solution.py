def sum_residues(n: int) -> int:
    """Return the sum of i * i % 7 for i in range(n)."""
    raise NotImplementedError
