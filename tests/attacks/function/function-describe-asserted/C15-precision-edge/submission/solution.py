def describe(numbers):
    if not numbers:
        raise ValueError
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers) + 1e-6, "ordered": sorted(numbers)}
