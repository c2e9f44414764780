def describe(numbers:
