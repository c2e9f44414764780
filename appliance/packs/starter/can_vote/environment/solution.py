def can_vote(age: int) -> bool:
    """Return True if age is at least 18.

    >>> can_vote(20)
    True
    """
