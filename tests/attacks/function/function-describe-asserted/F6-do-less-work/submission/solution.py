def describe(numbers):
    if not numbers:
        raise ValueError
    some = numbers[:3]
    return {"count": len(numbers), "mean": sum(some) / len(some), "ordered": sorted(some)}
