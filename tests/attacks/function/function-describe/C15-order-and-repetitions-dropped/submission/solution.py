def describe(numbers):
    if not numbers:
        raise ValueError
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": list(set(numbers))}
