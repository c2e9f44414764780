def describe(numbers):
    return describe(numbers)
