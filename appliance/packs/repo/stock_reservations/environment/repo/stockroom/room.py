"""The stockroom."""

from stockroom.errors import ShortError, StockError
from stockroom.orders import Orders


class Room:
    """Counts of items, and what of them is reserved."""

    def __init__(self):
        self.orders = Orders()
        self._counts = {}

    def receive(self, item, count):
        """More of an item has come."""
        if count < 1:
            raise StockError("what comes must be one piece at least")
        self._counts[item] = self._counts.get(item, 0) + count

    def count(self, item):
        """How many lie here, reserved or not."""
        return self._counts.get(item, 0)

    def available(self, item):
        """How many can still be reserved."""
        return self.count(item)

    def reserve(self, order, items):
        """Reserve counts of items for an order, all of them or, with ShortError, none."""
        for item, wanted in items.items():
            if wanted < 1:
                raise StockError("one piece at least must be reserved")
            if wanted > self.available(item):
                raise ShortError(item, wanted, self.available(item))
        self.orders.add(order, items)

    def cancel(self, order):
        """Give back what an order has reserved."""
        self.orders.take(order)

    def ship(self, order):
        """Send what an order has reserved; it is gone from here."""
        for item, count in self.orders.take(order).items():
            self._counts[item] -= count
