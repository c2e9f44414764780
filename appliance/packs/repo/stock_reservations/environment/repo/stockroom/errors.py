"""What can go wrong."""


class StockError(ValueError):
    """Something that cannot be done with this stock."""


class ShortError(StockError):
    """There is not enough of an item."""

    def __init__(self, item, wanted, available):
        super().__init__(f"{item}: {wanted} wanted, {available} available")
        self.item = item
        self.wanted = wanted
        self.available = available
