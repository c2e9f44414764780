def sum_with_tip(bill: int, tip: int, people: int) -> float:
    """Return bill plus tip, divided by people.

    >>> sum_with_tip(20, 100, 7)
    17.142857142857142
    """
