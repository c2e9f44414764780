"""Pages by path and paths by page."""

from routes.desk import run
from routes.errors import NoRoute, RouteError
from routes.pattern import Pattern
from routes.table import Table

__all__ = ["NoRoute", "Pattern", "RouteError", "Table", "run"]
