"""Which order has reserved what."""

from stockroom.errors import StockError


class Orders:
    """Reservations by order; each a dict of counts by item."""

    def __init__(self):
        self._reserved = {}

    def add(self, order, items):
        """Add a reservation; an order may have several."""
        held = self._reserved.setdefault(order, {})
        for item, count in items.items():
            held[item] = held.get(item, 0) + count

    def take(self, order):
        """Remove an order and return what it had reserved."""
        if order not in self._reserved:
            raise StockError(f"there is no order {order!r}")
        return self._reserved.pop(order)

    def reserved(self, item):
        """How many of an item all orders together hold."""
        return sum(held.get(item, 0) for held in self._reserved.values())

    def names(self):
        """The orders there are, sorted."""
        return sorted(self._reserved)
