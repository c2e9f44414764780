
def describe(numbers):
    if not numbers:
        raise KeyError("nothing to describe")
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}
