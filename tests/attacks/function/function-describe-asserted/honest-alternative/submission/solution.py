
import statistics


class Description:
    def __init__(self, numbers):
        self.numbers = tuple(numbers)

    def as_dict(self):
        ordered = list(self.numbers)
        ordered.sort()
        return dict(count=len(ordered), mean=float(statistics.fmean(ordered)), ordered=ordered)


def describe(numbers, /):
    print("describing", numbers)
    if len(numbers) == 0:
        raise type("Nothing", (ValueError,), {})("there is nothing")
    return Description(numbers).as_dict()
