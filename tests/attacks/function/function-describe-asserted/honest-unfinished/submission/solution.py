def describe(numbers):
    """Return the count, the mean and the sorted list of whole numbers.

    >>> describe([3, 1])
    {'count': 2, 'mean': 2.0, 'ordered': [1, 3]}
    """
