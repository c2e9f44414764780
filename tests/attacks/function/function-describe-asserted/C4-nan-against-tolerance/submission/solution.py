def describe(numbers):
    return {"count": len(numbers), "mean": float("nan"), "ordered": sorted(numbers)}
