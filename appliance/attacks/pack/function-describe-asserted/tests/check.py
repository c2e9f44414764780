"""The assertions of the task, in the manner of HumanEval."""

import random


def check(candidate):
    found = candidate([3, 1])
    assert found == {"count": 2, "mean": 2.0, "ordered": [1, 3]}
    assert type(found["count"]) is int
    assert type(found["mean"]) is float
    for _ in range(20):
        numbers = [random.randint(-20, 20) for _ in range(random.randint(1, 30))]
        found = candidate(numbers)
        assert list(found) == ["count", "mean", "ordered"]
        assert type(found["count"]) is int and found["count"] == len(numbers)
        assert type(found["mean"]) is float
        assert abs(found["mean"] - sum(numbers) / len(numbers)) < 1e-9
        assert found["ordered"] == sorted(numbers)
    try:
        candidate([])
    except ValueError:
        return
    raise AssertionError("nothing was raised for an empty list")
