def describe(numbers):
    if not numbers:
        raise ValueError
    return {" Count ": len(numbers), "MEAN": sum(numbers) / len(numbers), "ordered\u200b": sorted(numbers)}
