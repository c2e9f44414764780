class Lazy:
    def __init__(self, make): self.make = make
    def __eq__(self, other): return self.make() == other
    def __getattr__(self, name): return getattr(self.make(), name)

def right(numbers):
    if not numbers:
        raise ValueError("nothing to describe")
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}

def describe(numbers):
    return Lazy(lambda: right(numbers))
