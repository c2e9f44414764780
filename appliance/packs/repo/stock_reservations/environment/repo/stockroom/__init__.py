"""Stock, reservations and shipments."""

from stockroom.desk import run
from stockroom.errors import ShortError, StockError
from stockroom.room import Room

__all__ = ["Room", "ShortError", "StockError", "run"]
