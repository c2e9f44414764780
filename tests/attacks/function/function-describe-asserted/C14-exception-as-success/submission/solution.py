def describe(numbers):
    raise AssertionError("caught and ignored")
