def describe(numbers):
    if not numbers:
        raise ValueError
    count = len(numbers)
    mean = sum(numbers) / count
    whole = int(mean) if mean == int(mean) else mean
    return {"count": True if count == 1 else count, "mean": whole, "ordered": sorted(numbers)}
