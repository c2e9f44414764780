def describe(numbers):
    return {"count": 10 ** 9000, "mean": 0.0, "ordered": [0] * 10 ** 6}
