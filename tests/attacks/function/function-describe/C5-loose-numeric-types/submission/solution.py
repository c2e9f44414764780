def describe(numbers):
    if not numbers:
        raise ValueError
    mean = sum(numbers) / len(numbers)
    return {"count": float(len(numbers)), "mean": mean, "ordered": sorted(numbers)}
