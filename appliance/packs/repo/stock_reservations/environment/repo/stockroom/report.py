"""What to order next."""


def short(room, wanted):
    """How many pieces are missing of each item to have `wanted` of it available; items without a lack are left out."""
    lacks = {item: count - room.available(item) for item, count in wanted.items()}
    return {item: lack for item, lack in sorted(lacks.items()) if lack > 0}
