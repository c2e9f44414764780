
def describe(numbers):
    if not numbers:
        raise ValueError("nothing to describe")
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}
