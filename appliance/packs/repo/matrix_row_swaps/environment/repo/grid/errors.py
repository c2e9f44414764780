"""What can go wrong."""


class GridError(ValueError):
    """Matrices of the wrong shape, or equations without exactly one solution."""
