
def right(numbers):
    if not numbers:
        raise ValueError("nothing to describe")
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}

def describe(numbers):
    return repr(right(numbers))
