def describe(numbers):
    raise ValueError(f"expected what? got {numbers!r}")
