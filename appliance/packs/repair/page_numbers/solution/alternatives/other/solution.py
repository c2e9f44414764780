def page_numbers(items, per_page):
    parts = [items[at : at + per_page] for at in range(0, len(items), per_page)]
    return [[number, item] for number, part in enumerate(parts, 1) for item in part]
