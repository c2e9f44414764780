import itertools
def describe(numbers):
    return itertools.count()
