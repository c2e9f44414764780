def describe(numbers):
    return {"count": len(numbers), "mean": float("inf"), "ordered": sorted(numbers)}
