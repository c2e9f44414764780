def describe(numbers):
    found = {"count": 1, "mean": 0.0}
    found["ordered"] = [found]
    return found
