def longest_run(items: list) -> int:
    """Return the length of the longest run of equal neighbours.

    >>> longest_run([1, 1, 2])
    2
    """
